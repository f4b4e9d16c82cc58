/*
 * n2: n1 in one launch: a block sums its row and then scales it.
 *
 * No workspace, no second launch; and the row that a block reads again has just passed through
 * L2, which often still holds it, so that the third of the traffic that the second read asks for need not reach memory.
 * Ledger a row of N: 12N requested as in n1; from memory 8N where the row survives in L2.
 */
#include "../rows.cuh"

namespace {

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) rmsnorm_n2(row_args p)
{
    const float *x = p.x + static_cast<int64_t>(blockIdx.x) * p.ldx;
    float *y = p.y + static_cast<int64_t>(blockIdx.x) * p.ldy;
    float sum = 0.0f;
    for (int j = threadIdx.x; j < p.n; j += static_cast<int>(blockDim.x))
        sum += x[j] * x[j];
    const float r = rsqrtf(block_reduce(sum, add()) * p.inv_n + p.eps);
    for (int j = threadIdx.x; j < p.n; j += static_cast<int>(blockDim.x))
        y[j] = x[j] * r * p.w[j];
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const row_args p = rows_unpack(static_cast<const struct rung_case *>(state), set, true);
    if (!p.rows || !p.n)
        return RUNG_OK;
    return rung_launch(rmsnorm_n2, dim3(static_cast<unsigned>(p.rows)), dim3(walk_threads(p.n, THREADS)),
                       0, stream, p);
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    rows_cost(c, out, 4.0, 2.0, 1.0, true);
}

const struct rung_entry entries[] = {
    {"rmsnorm_n2", RUNG_KERNEL_ADDRESS(rmsnorm_n2)}};
const struct rung_limit limits[] = {
    {"row", "any length below 2^31 - 4096, any stride and offset"}};

} // namespace

RUNG_PLUGIN(n2) = {
    RUNG_PLUGIN_HEAD,
    .id = "n2",
    .family = "rmsnorm",
    .title = "one launch",
    .summary = "a block sums its row, then scales it",
    .notes = "Against n1: one launch, and the second read of a row finds it in L2. Buys the traffic of that read.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC | RUNG_TRAIT_GRAPH_CAPTURABLE,
    .entries = entries,
    .n_entries = 1,
    .limits = limits,
    .n_limits = 1,
    .accepts = rows_accept_any,
    .launch = launch,
    .cost = cost,
};
