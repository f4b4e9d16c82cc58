/*
 * s2: one launch, one pass for maximum and sum together, then the division on a second read.
 *
 * The sum can be kept right while the maximum is still growing: when it rises from m to m', what
 * has been added so far is multiplied by exp(m - m'). Two partial results merge the same way.
 * Ledger a row of N: 4N + 8N = 12N requested; the second read often finds L2.
 *
 * The maximum starts at the lowest finite number: a thread that saw nothing, or nothing but -inf, holds a
 * sum of 0 and takes no part, while exp(-inf + inf) would be NaN. A row of nothing but -inf ends as 0/0.
 */
#include "../rows.cuh"

namespace {

constexpr int THREADS = 256;

struct partial {
    float m, sum;
};

__device__ __forceinline__ partial merge(partial a, partial b)
{
    const float m = fmaxf(a.m, b.m);
    return {m, a.sum * __expf(a.m - m) + b.sum * __expf(b.m - m)};
}

__device__ __forceinline__ partial warp_merge(partial v)
{
    RUNG_UNROLL
    for (int d = 16; d > 0; d /= 2)
        v = merge(v, {__shfl_xor_sync(0xffffffffu, v.m, d), __shfl_xor_sync(0xffffffffu, v.sum, d)});
    return v;
}

__global__ void __launch_bounds__(THREADS) softmax_s2(row_args p)
{
    __shared__ partial part[THREADS / 32];
    const float *x = p.x + static_cast<int64_t>(blockIdx.x) * p.ldx;
    float *y = p.y + static_cast<int64_t>(blockIdx.x) * p.ldy;
    const int lane = threadIdx.x % 32;
    partial v = {larger::none, 0.0f};
    for (int j = threadIdx.x; j < p.n; j += static_cast<int>(blockDim.x))
        v = merge(v, {fmaxf(larger::none, x[j]), __expf(x[j] - fmaxf(larger::none, x[j]))});
    v = warp_merge(v);
    if (lane == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = warp_merge(lane < static_cast<int>(blockDim.x / 32) ? part[lane] : partial{larger::none, 0.0f});
    const float r = 1.0f / v.sum;
    for (int j = threadIdx.x; j < p.n; j += static_cast<int>(blockDim.x))
        y[j] = __expf(x[j] - v.m) * r;
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const row_args p = rows_unpack(static_cast<const struct rung_case *>(state), set, false);
    if (!p.rows || !p.n)
        return RUNG_OK;
    return rung_launch(softmax_s2, dim3(static_cast<unsigned>(p.rows)), dim3(walk_threads(p.n, THREADS)),
                       0, stream, p);
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    rows_cost(c, out, 7.0, 2.0, 1.0, false);
}

const struct rung_entry entries[] = {
    {"softmax_s2", RUNG_KERNEL_ADDRESS(softmax_s2)}};
const struct rung_limit limits[] = {
    {"row", "any length below 2^31 - 4096, any stride and offset"}};

} // namespace

RUNG_PLUGIN(s2) = {
    RUNG_PLUGIN_HEAD,
    .id = "s2",
    .family = "softmax",
    .title = "online, one launch",
    .summary = "maximum and sum in one pass, then the division",
    .notes = "Against s1: one launch, and one read less. Buys 16N to 12N, for more exponentials.",
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
