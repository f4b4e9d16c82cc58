/*
 * s1: softmax as it is written down, three launches: the maximum of each row, the sum of the
 * exponentials, the division.
 *
 * Each reads x again: 4N + 4N + 8N = 16N bytes a row, where 8N are needed. The maximum comes first so that no
 * exponential overflows.
 */
#include "../rows.cuh"

namespace {

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) softmax_s1_max(row_args p)
{
    const float *x = p.x + static_cast<int64_t>(blockIdx.x) * p.ldx;
    float m = larger::none;
    for (int j = threadIdx.x; j < p.n; j += static_cast<int>(blockDim.x))
        m = fmaxf(m, x[j]);
    m = block_reduce(m, larger());
    if (threadIdx.x == 0)
        p.ws[blockIdx.x] = m;
}

__global__ void __launch_bounds__(THREADS) softmax_s1_sum(row_args p)
{
    const float *x = p.x + static_cast<int64_t>(blockIdx.x) * p.ldx;
    const float m = p.ws[blockIdx.x];
    float sum = 0.0f;
    for (int j = threadIdx.x; j < p.n; j += static_cast<int>(blockDim.x))
        sum += __expf(x[j] - m);
    sum = block_reduce(sum, add());
    if (threadIdx.x == 0)
        p.ws[p.rows + blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) softmax_s1_normalise(row_args p)
{
    const float *x = p.x + static_cast<int64_t>(blockIdx.x) * p.ldx;
    float *y = p.y + static_cast<int64_t>(blockIdx.x) * p.ldy;
    const float m = p.ws[blockIdx.x], r = 1.0f / p.ws[p.rows + blockIdx.x];
    for (int j = threadIdx.x; j < p.n; j += static_cast<int>(blockDim.x))
        y[j] = __expf(x[j] - m) * r;
}

size_t workspace_bytes(const struct rung_case *c)
{
    return static_cast<size_t>(c->dim[0]) * 2 * sizeof(float);
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const row_args p = rows_unpack(static_cast<const struct rung_case *>(state), set, false);
    if (!p.rows || !p.n)
        return RUNG_OK;
    const dim3 grid(static_cast<unsigned>(p.rows)), block(walk_threads(p.n, THREADS));
    enum rung_status s = rung_launch(softmax_s1_max, grid, block, 0, stream, p);
    if (!s)
        s = rung_launch(softmax_s1_sum, grid, block, 0, stream, p);
    return s ? s : rung_launch(softmax_s1_normalise, grid, block, 0, stream, p);
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    rows_cost(c, out, 5.0, 3.0, 1.0, false);
}

const struct rung_entry entries[] = {
    {"softmax_s1_max", RUNG_KERNEL_ADDRESS(softmax_s1_max)},
    {"softmax_s1_sum", RUNG_KERNEL_ADDRESS(softmax_s1_sum)},
    {"softmax_s1_normalise", RUNG_KERNEL_ADDRESS(softmax_s1_normalise)}};
const struct rung_limit limits[] = {
    {"row", "any length below 2^31 - 4096, any stride and offset"}};

} // namespace

RUNG_PLUGIN(s1) = {
    RUNG_PLUGIN_HEAD,
    .id = "s1",
    .family = "softmax",
    .title = "three launches",
    .summary = "maximum, sum of exponentials, division",
    .notes = "The starting point: every step its own kernel, x read three times.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC | RUNG_TRAIT_GRAPH_CAPTURABLE,
    .entries = entries,
    .n_entries = 3,
    .limits = limits,
    .n_limits = 1,
    .accepts = rows_accept_any,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
    .cost = cost,
};
