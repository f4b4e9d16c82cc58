/*
 * Rows that no block holds: a row is cut into SLICES equal slices, a block each.
 *
 * Where clusters exist (sm_90), the slices of a row are a cluster: each waits in its block's shared memory
 * while the blocks exchange a few floats, so that x is read once. Elsewhere the exchange goes through
 * memory, in a second launch that reads x again.
 */
#ifndef RUNG_ROWS_SPLIT_CUH
#define RUNG_ROWS_SPLIT_CUH

#include "rows.cuh"

namespace {

constexpr int SLICES = 8, SLICE_THREADS = 512;

/* Elements of a slice, a multiple of 4. */
__device__ __host__ inline int slice_length(int n)
{
    return ((n + SLICES - 1) / SLICES + 3) / 4 * 4;
}

/* This block's slice of its row: blocks of a row are neighbours. */
struct slice {
    int64_t row;
    int rank, begin, n;
};
__device__ inline slice this_slice(const row_args &p)
{
    slice s;
    const int length = slice_length(p.n);
    s.row = blockIdx.x / SLICES;
    s.rank = static_cast<int>(blockIdx.x % SLICES);
    s.begin = min(s.rank * length, p.n);
    s.n = min(length, p.n - s.begin);
    return s;
}

/* Copies the slice into shared memory; a barrier of the block is part of it. */
template <bool VEC> __device__ __forceinline__ void fetch_slice(float *to, const float *x, int n)
{
    constexpr int W = VEC ? 4 : 1;
    for (int j = W * static_cast<int>(threadIdx.x); j < n; j += W * static_cast<int>(blockDim.x))
        rung_cp_async<4 * W>(to + j, x + j);
    rung_cp_async_commit();
    rung_cp_async_wait<0>();
    __syncthreads();
}

/* f(x[j]) for this thread's elements of a slice in shared memory, in place; four at a time. */
template <bool VEC, class F> __device__ __forceinline__ void each_of_slice(float *x, int n, F f)
{
    constexpr int W = VEC ? 4 : 1;
    for (int j = W * static_cast<int>(threadIdx.x); j < n; j += W * static_cast<int>(blockDim.x)) {
        if constexpr (VEC) {
            float4 v = *reinterpret_cast<float4 *>(x + j);
            v.x = f(v.x);
            v.y = f(v.y);
            v.z = f(v.z);
            v.w = f(v.w);
            *reinterpret_cast<float4 *>(x + j) = v;
        } else {
            x[j] = f(x[j]);
        }
    }
}

inline size_t slice_bytes(int n)
{
    return static_cast<size_t>(slice_length(n)) * sizeof(float);
}

/* May this case go by cluster: a device that has them, and a slice that fits a block's memory? */
inline bool by_cluster(const struct rung_case *c)
{
    return c->sm >= 90 && slice_bytes(static_cast<int>(c->dim[1])) <= 200 << 10;
}

inline dim3 slice_block(const row_args &p)
{
    return dim3(walk_threads(slice_length(p.n), SLICE_THREADS));
}

inline unsigned split_blocks(const row_args &p)
{
    return static_cast<unsigned>(p.rows * SLICES);
}

inline bool split_accept(const struct rung_case *c, char *reason, size_t cap)
{
    const bool ok = c->dim[0] < 0x7fffffff / SLICES;
    return rows_accept(c, reason, cap, ok ? 0x7fffffff - 4096 : -1,
                       ok ? "rows of 2^31 - 4096 elements or more" : "2^28 rows or more");
}

} // namespace

#endif
