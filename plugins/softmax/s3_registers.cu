/*
 * s3: the row stays in registers: one read, one write.
 *
 * With the row at hand the online recurrence is not needed: the maximum first, then each exponential once.
 * Ledger a row of N: 4N read, 4N written, 8N. The price is a longest row.
 * Elements past the end of the row are -inf, whose exponential is 0; the maximum starts finite (see s2).
 */
#include "../rows.cuh"

namespace {

template <int PER> __global__ void __launch_bounds__(ROW_THREADS) softmax_s3(row_args p)
{
    row_registers<PER, false> x;
    x.load(p.x + static_cast<int64_t>(blockIdx.x) * p.ldx, p.n, -INFINITY);
    float m = larger::none, sum = 0.0f;
    RUNG_UNROLL
    for (int i = 0; i < 4 * PER; i++)
        m = fmaxf(m, x.v[i]);
    m = block_reduce(m, larger());
    RUNG_UNROLL
    for (int i = 0; i < 4 * PER; i++) {
        x.v[i] = __expf(x.v[i] - m);
        sum += x.v[i];
    }
    const float r = 1.0f / block_reduce(sum, add());
    x.template store<false>(p.y + static_cast<int64_t>(blockIdx.x) * p.ldy, p.n, r, nullptr);
}

template <int PER> enum rung_status start(const row_args &p, void *stream)
{
    return rung_launch(softmax_s3<PER>, dim3(static_cast<unsigned>(p.rows)),
                       dim3(row_threads(p.n, PER)), 0, stream, p);
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const row_args p = rows_unpack(static_cast<const struct rung_case *>(state), set, false);
    if (!p.rows || !p.n)
        return RUNG_OK;
    switch (row_quads(p.n)) {
    case 1: return start<1>(p, stream);
    case 2: return start<2>(p, stream);
    case 4: return start<4>(p, stream);
    default: return start<8>(p, stream);
    }
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    rows_cost(c, out, 5.0, 1.0, 1.0, false);
}

const struct rung_entry entries[] = {
    {"softmax_s3", RUNG_KERNEL_ADDRESS(softmax_s3<2>)}};
const struct rung_limit limits[] = {
    {"longest row", "16384 elements: 512 threads, 32 each"}};

} // namespace

RUNG_PLUGIN(s3) = {
    RUNG_PLUGIN_HEAD,
    .id = "s3",
    .family = "softmax",
    .title = "the row in registers",
    .summary = "a row a block, held in registers, scalar accesses",
    .notes = "Against s2: the second read is gone, and with it a third of the exponentials. Buys 12N to 8N, and sets a longest row.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC | RUNG_TRAIT_GRAPH_CAPTURABLE,
    .entries = entries,
    .n_entries = 1,
    .limits = limits,
    .n_limits = 1,
    .accepts = rows_accept_short,
    .launch = launch,
    .cost = cost,
};
