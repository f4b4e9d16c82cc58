/*
 * s4: s3 with 128-bit accesses.
 *
 * A quarter of the load and store instructions for the same bytes. Ledger: s3's, 8N a row.
 * Where N, a stride or an address is not a multiple of four elements, the same kernel runs with scalar
 * accesses.
 */
#include "../rows.cuh"

namespace {

template <int PER, bool VEC> __global__ void __launch_bounds__(ROW_THREADS) softmax_s4(row_args p)
{
    row_registers<PER, VEC> x;
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

template <int PER> enum rung_status start(const row_args &p, bool vec, void *stream)
{
    return rung_launch(vec ? softmax_s4<PER, true> : softmax_s4<PER, false>,
                       dim3(static_cast<unsigned>(p.rows)), dim3(row_threads(p.n, PER)), 0, stream, p);
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const row_args p = rows_unpack(static_cast<const struct rung_case *>(state), set, false);
    const bool vec = rows_aligned(set, p.n);
    if (!p.rows || !p.n)
        return RUNG_OK;
    switch (row_quads(p.n)) {
    case 1: return start<1>(p, vec, stream);
    case 2: return start<2>(p, vec, stream);
    case 4: return start<4>(p, vec, stream);
    default: return start<8>(p, vec, stream);
    }
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    rows_cost(c, out, 5.0, 1.0, 1.0, false);
}

const struct rung_entry entries[] = {
    {"softmax_s4", RUNG_KERNEL_ADDRESS((softmax_s4<2, true>))}};
const struct rung_limit limits[] = {
    {"longest row", "16384 elements: 512 threads, 32 each"},
    {"128-bit path", "needs N and strides of 4n and operands on 16 bytes, else scalar"}};

} // namespace

RUNG_PLUGIN(s4) = {
    RUNG_PLUGIN_HEAD,
    .id = "s4",
    .family = "softmax",
    .title = "128-bit accesses",
    .summary = "a row a block, held in registers as float4",
    .notes = "Against s3: a quarter of the memory instructions for the same bytes. Buys the last percents to the copy.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC | RUNG_TRAIT_GRAPH_CAPTURABLE,
    .entries = entries,
    .n_entries = 1,
    .limits = limits,
    .n_limits = 2,
    .accepts = rows_accept_short,
    .launch = launch,
    .cost = cost,
};
