/*
 * n1: RMSNorm as it is written down, two launches: the sum of squares of each row, then the scaling.
 *
 * Between them x has gone back to memory, so that it is read twice.
 * Ledger a row of N: 4N read for the sum, 4N read and 4N written for the scaling: 12N, where 8N are
 * needed. Bytes requested per output: 4 (sum) + 4 (x) + 4 (w) + 4 (y).
 */
#include "../rows.cuh"

namespace {

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) rmsnorm_n1_sumsq(row_args p)
{
    const float *x = p.x + static_cast<int64_t>(blockIdx.x) * p.ldx;
    float sum = 0.0f;
    for (int j = threadIdx.x; j < p.n; j += static_cast<int>(blockDim.x))
        sum += x[j] * x[j];
    sum = block_reduce(sum, add());
    if (threadIdx.x == 0)
        p.ws[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) rmsnorm_n1_scale(row_args p)
{
    const float *x = p.x + static_cast<int64_t>(blockIdx.x) * p.ldx;
    float *y = p.y + static_cast<int64_t>(blockIdx.x) * p.ldy;
    const float r = rsqrtf(p.ws[blockIdx.x] * p.inv_n + p.eps);
    for (int j = threadIdx.x; j < p.n; j += static_cast<int>(blockDim.x))
        y[j] = x[j] * r * p.w[j];
}

size_t workspace_bytes(const struct rung_case *c)
{
    return static_cast<size_t>(c->dim[0]) * sizeof(float);
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const row_args p = rows_unpack(static_cast<const struct rung_case *>(state), set, true);
    if (!p.rows || !p.n)
        return RUNG_OK;
    const dim3 grid(static_cast<unsigned>(p.rows)), block(walk_threads(p.n, THREADS));
    const enum rung_status s = rung_launch(rmsnorm_n1_sumsq, grid, block, 0, stream, p);
    return s ? s : rung_launch(rmsnorm_n1_scale, grid, block, 0, stream, p);
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    rows_cost(c, out, 4.0, 2.0, 1.0, true);
}

const struct rung_entry entries[] = {
    {"rmsnorm_n1_sumsq", RUNG_KERNEL_ADDRESS(rmsnorm_n1_sumsq)},
    {"rmsnorm_n1_scale", RUNG_KERNEL_ADDRESS(rmsnorm_n1_scale)}};
const struct rung_limit limits[] = {
    {"row", "any length below 2^31 - 4096, any stride and offset"}};

} // namespace

RUNG_PLUGIN(n1) = {
    RUNG_PLUGIN_HEAD,
    .id = "n1",
    .family = "rmsnorm",
    .title = "two launches",
    .summary = "sum of squares a row, then the scaling",
    .notes = "The starting point: every step its own kernel, x read twice from memory.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC | RUNG_TRAIT_GRAPH_CAPTURABLE,
    .entries = entries,
    .n_entries = 2,
    .limits = limits,
    .n_limits = 1,
    .accepts = rows_accept_any,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
    .cost = cost,
};
