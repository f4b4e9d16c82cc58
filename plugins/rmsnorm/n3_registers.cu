/*
 * n3: the row stays in registers between the sum and the scaling.
 *
 * n2 asks for the row twice and is at L2's mercy. 4 to 32 elements a thread hold it here, so
 * that it is read once for certain.
 * Ledger a row of N: 4N read, 4N written, 8N; with the weights 12 bytes requested per output, the weights
 * from L2 or L1. The price is a longest row.
 */
#include "../rows.cuh"

namespace {

template <int PER> __global__ void __launch_bounds__(ROW_THREADS) rmsnorm_n3(row_args p)
{
    row_registers<PER, false> x;
    x.load(p.x + static_cast<int64_t>(blockIdx.x) * p.ldx, p.n, 0.0f);
    float sum = 0.0f;
    RUNG_UNROLL
    for (int i = 0; i < 4 * PER; i++)
        sum += x.v[i] * x.v[i];
    const float r = rsqrtf(block_reduce(sum, add()) * p.inv_n + p.eps);
    x.template store<true>(p.y + static_cast<int64_t>(blockIdx.x) * p.ldy, p.n, r, p.w);
}

template <int PER> enum rung_status start(const row_args &p, void *stream)
{
    return rung_launch(rmsnorm_n3<PER>, dim3(static_cast<unsigned>(p.rows)),
                       dim3(row_threads(p.n, PER)), 0, stream, p);
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const row_args p = rows_unpack(static_cast<const struct rung_case *>(state), set, true);
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
    rows_cost(c, out, 4.0, 1.0, 1.0, true);
}

const struct rung_entry entries[] = {
    {"rmsnorm_n3", RUNG_KERNEL_ADDRESS(rmsnorm_n3<2>)}};
const struct rung_limit limits[] = {
    {"longest row", "16384 elements: 512 threads, 32 each"}};

} // namespace

RUNG_PLUGIN(n3) = {
    RUNG_PLUGIN_HEAD,
    .id = "n3",
    .family = "rmsnorm",
    .title = "the row in registers",
    .summary = "a row a block, held in registers, scalar accesses",
    .notes = "Against n2: the second read is gone whatever L2 does. Buys 12N to 8N, and sets a longest row.",
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
