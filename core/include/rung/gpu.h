/*
 * What a CUDA kernel source includes: the launch function, dynamic shared memory and
 * the portable names of what CUDA spells in PTX. Two branches behind one interface:
 *
 *   cuda  compiled by nvcc for a GPU
 *   emu   the same source compiled as C++ for the CPU (rung/emu.h), for correctness
 *
 * Portable subset, the same in both: __global__ __device__ __shared__ __launch_bounds__,
 * threadIdx.. gridDim, __syncthreads (_count, _and, _or), __syncwarp, __shfl_*_sync, votes,
 * atomicAdd/Max/CAS, float2/float4/int4.., __ldg, fast-math intrinsics, and what is below.
 * A kernel that needs more (inline PTX of its own, TMA, clusters, tensor cores) says so in
 * its descriptor's `needs` and is not compiled for emu.
 *
 * Keep kernels and host functions in an anonymous namespace: host stubs of kernels that
 * share a name would clash in the bundled executable.
 */
#ifndef RUNG_GPU_H
#define RUNG_GPU_H

#include <rung/plugin.h>

#if defined(__CUDACC__)

/* Dynamic shared memory: RUNG_DYNAMIC_SHARED(float, tile); declares `float tile[]`,
 * 128-byte aligned. One per kernel. */
#define RUNG_DYNAMIC_SHARED(type, name)                                                     \
    extern __shared__ __align__(128) unsigned char rung_dynamic_shared_[];                  \
    type *name = reinterpret_cast<type *>(rung_dynamic_shared_)

/* Loops that must be unrolled for the kernel to be what it says. */
#define RUNG_UNROLL _Pragma("unroll")
#define RUNG_UNROLL_BY(n) _Pragma(RUNG_STRING(unroll n))

/* Asynchronous copy of 16 or 4 bytes from global to shared memory, both aligned to the
 * size. The destination may be read after rung_cp_async_wait<N>() and a barrier. With
 * valid == false nothing is read and the destination is filled with zeros. */
template <int BYTES>
__device__ __forceinline__ void rung_cp_async(void *smem, const void *gmem, bool valid = true)
{
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async moves 4, 8 or 16 bytes");
#if defined(__CUDA_ARCH__)
    const unsigned dst = static_cast<unsigned>(__cvta_generic_to_shared(smem));
    const int n = valid ? BYTES : 0;
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(dst), "l"(gmem), "r"(n)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(dst), "l"(gmem),
                     "n"(BYTES), "r"(n)
                     : "memory");
#else
    (void)smem, (void)gmem, (void)valid;
#endif
}

/* Closes the group of this thread's copies since the last commit. */
__device__ __forceinline__ void rung_cp_async_commit()
{
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until at most N of this thread's committed groups are still in flight. */
template <int N> __device__ __forceinline__ void rung_cp_async_wait()
{
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

/* Streaming accesses: data that is used once and should not displace the rest of L2. */
template <class T> __device__ __forceinline__ T rung_load_streaming(const T *p) { return __ldcs(p); }
template <class T> __device__ __forceinline__ void rung_store_streaming(T *p, T v) { __stcs(p, v); }

/* 16 bytes that L2 should rather keep than what is written meanwhile. */
__device__ __forceinline__ float4 rung_load_keep(const float4 *p)
{
#if defined(__CUDA_ARCH__)
    float4 v;
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
        : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
        : "l"(p), "l"(policy));
    return v;
#else
    return *p;
#endif
}

/* Clusters: blocks that run at the same time and read each other's shared memory. From sm_90 on;
 * a kernel that uses them is launched only where struct rung_case says sm >= 90. */
__device__ __forceinline__ unsigned rung_cluster_rank()
{
    unsigned rank = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}

/* A barrier of all threads of the cluster that also orders their shared memory. */
__device__ __forceinline__ void rung_cluster_sync()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
#endif
}

/* The float that block `rank` of the cluster has where this block has *smem. */
__device__ __forceinline__ float rung_cluster_read(const float *smem, unsigned rank)
{
    float v = *smem;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const unsigned here = static_cast<unsigned>(__cvta_generic_to_shared(smem));
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there) : "memory");
#else
    (void)rank;
#endif
    return v;
}

/* Allows `kernel` to use `bytes` of dynamic shared memory (above 48 KiB it must be asked
 * for). Call it in prepare. */
template <class... P> inline enum rung_status rung_allow_smem(void (*kernel)(P...), size_t bytes)
{
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(bytes)) == cudaSuccess
               ? RUNG_OK
               : RUNG_E_DEVICE;
}

/* Enqueues kernel<<<grid, block, smem, stream>>>(args...). Arguments convert to the
 * kernel's parameter types. The core reads the runtime's error text. */
template <class... P, class... A>
inline enum rung_status rung_launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t smem,
                                    void *stream, A &&...args)
{
    cudaLaunchConfig_t cfg = {};
    cfg.gridDim = grid;
    cfg.blockDim = block;
    cfg.dynamicSmemBytes = smem;
    cfg.stream = static_cast<cudaStream_t>(stream);
    return cudaLaunchKernelEx(&cfg, kernel, static_cast<A &&>(args)...) == cudaSuccess
               ? RUNG_OK
               : RUNG_E_DEVICE;
}

/* rung_launch with clusters of `cluster` blocks along x. */
template <class... P, class... A>
inline enum rung_status rung_launch_cluster(void (*kernel)(P...), dim3 grid, dim3 block, unsigned cluster,
                                            size_t smem, void *stream, A &&...args)
{
    cudaLaunchConfig_t cfg = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cfg.gridDim = grid;
    cfg.blockDim = block;
    cfg.dynamicSmemBytes = smem;
    cfg.stream = static_cast<cudaStream_t>(stream);
    cfg.attrs = &attribute;
    cfg.numAttrs = 1;
    return cudaLaunchKernelEx(&cfg, kernel, static_cast<A &&>(args)...) == cudaSuccess
               ? RUNG_OK
               : RUNG_E_DEVICE;
}

#else
#include <rung/emu.h>
#endif

/* Address of a kernel for struct rung_entry. */
#define RUNG_KERNEL_ADDRESS(kernel) reinterpret_cast<const void *>(kernel)

/* Blocks of size b that cover n elements. */
static inline __host__ __device__ unsigned rung_blocks(int64_t n, int64_t b)
{
    return static_cast<unsigned>((n + b - 1) / b);
}

#endif
