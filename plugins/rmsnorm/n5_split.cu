/*
 * n5: a row over 8 blocks, for rows that no register file holds, and for few rows that leave most of
 * the GPU idle.
 *
 * n4's longest row is what 512 threads hold. Here a slice of the row waits in the shared memory of each
 * block of a cluster, and what the blocks tell each other is one float, their sum of squares.
 * Ledger a row of N: 4N read, 4N written, as n4; 8 reads of another block's memory.
 */
#include "../rows_split.cuh"

namespace {

template <bool VEC> __global__ void __launch_bounds__(SLICE_THREADS) rmsnorm_n5_cluster(row_args p)
{
    RUNG_DYNAMIC_SHARED(float, x);
    __shared__ float mine;
    constexpr int W = VEC ? 4 : 1;
    const slice s = this_slice(p);
    fetch_slice<VEC>(x, p.x + s.row * p.ldx + s.begin, s.n);
    float sum = 0.0f;
    each_of_slice<VEC>(x, s.n, [&](float v) { return sum += v * v, v; });
    sum = block_reduce(sum, add());
    if (threadIdx.x == 0)
        mine = sum;
    rung_cluster_sync();
    sum = 0.0f;
    RUNG_UNROLL
    for (unsigned i = 0; i < SLICES; i++)
        sum += rung_cluster_read(&mine, i);
    const float r = rsqrtf(sum * p.inv_n + p.eps);
    float *y = p.y + s.row * p.ldy + s.begin;
    const float *w = p.w + s.begin;
    for (int j = W * static_cast<int>(threadIdx.x); j < s.n; j += W * static_cast<int>(blockDim.x)) {
        if constexpr (VEC) {
            const float4 v = *reinterpret_cast<const float4 *>(x + j);
            const float4 f = *reinterpret_cast<const float4 *>(w + j);
            *reinterpret_cast<float4 *>(y + j) =
                make_float4(v.x * r * f.x, v.y * r * f.y, v.z * r * f.z, v.w * r * f.w);
        } else {
            y[j] = x[j] * r * w[j];
        }
    }
    rung_cluster_sync(); /* nobody leaves while another still reads its float */
}

__global__ void __launch_bounds__(SLICE_THREADS) rmsnorm_n5_partial(row_args p)
{
    const slice s = this_slice(p);
    const float *x = p.x + s.row * p.ldx + s.begin;
    float sum = 0.0f;
    for (int j = threadIdx.x; j < s.n; j += static_cast<int>(blockDim.x))
        sum += x[j] * x[j];
    sum = block_reduce(sum, add());
    if (threadIdx.x == 0)
        p.ws[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(SLICE_THREADS) rmsnorm_n5_finish(row_args p)
{
    const slice s = this_slice(p);
    const float *x = p.x + s.row * p.ldx + s.begin, *w = p.w + s.begin;
    float *y = p.y + s.row * p.ldy + s.begin, sum = 0.0f;
    for (int i = 0; i < SLICES; i++)
        sum += p.ws[s.row * SLICES + i];
    const float r = rsqrtf(sum * p.inv_n + p.eps);
    for (int j = threadIdx.x; j < s.n; j += static_cast<int>(blockDim.x))
        y[j] = x[j] * r * w[j];
}

/* What the blocks of a row tell each other where there are no clusters. */
size_t workspace_bytes(const struct rung_case *c)
{
    return by_cluster(c) ? 0 : static_cast<size_t>(c->dim[0]) * SLICES * sizeof(float);
}

/* The attribute is the function's, and stays: more for one case allows less for another too. */
enum rung_status prepare(const struct rung_env *env, const struct rung_case *c, const struct rung_set *,
                         size_t, void **state)
{
    *state = const_cast<struct rung_case *>(c);
    if (!by_cluster(c))
        return RUNG_OK;
    const size_t bytes = slice_bytes(static_cast<int>(c->dim[1]));
    const enum rung_status s = rung_allow_smem(rmsnorm_n5_cluster<true>, bytes);
    return s || rung_allow_smem(rmsnorm_n5_cluster<false>, bytes)
               ? env->fail(env->ctx, RUNG_E_DEVICE, "%zu bytes of shared memory a block are refused", bytes)
               : RUNG_OK;
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const struct rung_case *c = static_cast<const struct rung_case *>(state);
    const row_args p = rows_unpack(c, set, true);
    const bool vec = rows_aligned(set, p.n);
    const dim3 grid(split_blocks(p)), block = slice_block(p);
    if (!p.rows || !p.n)
        return RUNG_OK;
    if (by_cluster(c))
        return rung_launch_cluster(vec ? rmsnorm_n5_cluster<true> : rmsnorm_n5_cluster<false>, grid, block,
                                   SLICES, slice_bytes(p.n), stream, p);
    const enum rung_status s = rung_launch(rmsnorm_n5_partial, grid, block, 0, stream, p);
    return s ? s : rung_launch(rmsnorm_n5_finish, grid, block, 0, stream, p);
}

/* As on a device with clusters; one read more elsewhere. */
void cost(const struct rung_case *c, struct rung_cost *out)
{
    rows_cost(c, out, 4.0, by_cluster(c) ? 1.0 : 2.0, 1.0, true);
}

const struct rung_entry entries[] = {
    {"rmsnorm_n5_cluster", RUNG_KERNEL_ADDRESS(rmsnorm_n5_cluster<true>)},
    {"rmsnorm_n5_partial", RUNG_KERNEL_ADDRESS(rmsnorm_n5_partial)},
    {"rmsnorm_n5_finish", RUNG_KERNEL_ADDRESS(rmsnorm_n5_finish)}};
const struct rung_limit limits[] = {
    {"row", "any length below 2^31 - 4096, any stride and offset"},
    {"one read of x", "on sm_90, rows up to 409600; else two launches and two reads"},
    {"128-bit path", "needs N and strides of 4n and operands on 16 bytes, else scalar"}};

} // namespace

RUNG_PLUGIN(n5) = {
    RUNG_PLUGIN_HEAD,
    .id = "n5",
    .family = "rmsnorm",
    .title = "a row over a cluster",
    .summary = "8 blocks share a row through distributed shared memory, or through memory in two launches",
    .notes = "Against n4: no longest row, and 8 times the blocks where rows are few. Buys rows of 152064 at one read.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC | RUNG_TRAIT_GRAPH_CAPTURABLE,
    .entries = entries,
    .n_entries = 3,
    .limits = limits,
    .n_limits = 3,
    .accepts = split_accept,
    .workspace_bytes = workspace_bytes,
    .prepare = prepare,
    .launch = launch,
    .cost = cost,
};
