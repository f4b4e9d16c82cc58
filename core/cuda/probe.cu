/*
 * What the device itself measures: the clock of an SM against the device's own time, and
 * the ceiling of memory traffic, a copy.
 */
#include "launch.cuh"

namespace {

struct mark {
    long long cycles;
    unsigned long long ns;
    unsigned sm;
};

/* One thread; on an idle device it lands on the same SM each time, which is checked. */
__global__ void clock_kernel(mark *out)
{
    unsigned long long ns;
    unsigned sm;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    out->cycles = clock64();
    out->ns = ns;
    out->sm = sm;
}

/* Every thread PER loads in flight, then PER stores. */
template <int PER>
__global__ void __launch_bounds__(256) copy_kernel(float4 *dst, const float4 *src, size_t n)
{
    const size_t base = static_cast<size_t>(blockIdx.x) * PER * 256 + threadIdx.x;
    float4 v[PER];
#pragma unroll
    for (int i = 0; i < PER; i++)
        if (base + i * 256 < n)
            v[i] = src[base + i * 256];
#pragma unroll
    for (int i = 0; i < PER; i++)
        if (base + i * 256 < n)
            dst[base + i * 256] = v[i];
}

template <int PER> void copy_by_kernel(void *dst, const void *src, size_t bytes, cudaStream_t stream)
{
    const size_t n = bytes / 16, blocks = (n + PER * 256 - 1) / (PER * 256);
    copy_kernel<PER><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        static_cast<float4 *>(dst), static_cast<const float4 *>(src), n);
}

/* One device at a time is measured by a process. */
mark *marks;

} // namespace

extern "C" enum rung_status rung_cuda_clock_mark(struct rung_device *dev, int at,
                                                 struct rung_err *err)
{
    cudaError_t e = marks ? cudaSuccess : cudaMalloc(&marks, 2 * sizeof(mark));
    if (!e) {
        clock_kernel<<<1, 1, 0, static_cast<cudaStream_t>(dev->stream)>>>(marks + at);
        e = cudaGetLastError();
    }
    return e ? cuda_failed(err, "clock probe", e) : RUNG_OK;
}

extern "C" enum rung_status rung_cuda_clock_read(struct rung_device *dev, double *cycles, double *ns,
                                                 struct rung_err *err)
{
    mark m[2];
    cudaError_t e = cudaMemcpyAsync(m, marks, sizeof m, cudaMemcpyDeviceToHost,
                                    static_cast<cudaStream_t>(dev->stream));
    if (!e)
        e = cudaStreamSynchronize(static_cast<cudaStream_t>(dev->stream));
    if (e)
        return cuda_failed(err, "clock probe", e);
    if (m[0].sm != m[1].sm || m[1].ns <= m[0].ns)
        return rung_fail(err, RUNG_E_UNAVAILABLE, "clock probe: the two marks ran on SM %u and %u",
                         m[0].sm, m[1].sm);
    *cycles = static_cast<double>(m[1].cycles - m[0].cycles);
    *ns = static_cast<double>(m[1].ns - m[0].ns);
    return RUNG_OK;
}

extern "C" enum rung_status rung_cuda_copy_enqueue(struct rung_device *dev, enum rung_copy_how how,
                                                   void *dst, const void *src, size_t bytes,
                                                   struct rung_err *err)
{
    const cudaStream_t stream = static_cast<cudaStream_t>(dev->stream);
    cudaError_t e = cudaSuccess;
    if (how == RUNG_COPY_MEMCPY) {
        e = cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, stream);
    } else if (bytes >= 16) {
        (how == RUNG_COPY_X1 ? copy_by_kernel<1> : how == RUNG_COPY_X2 ? copy_by_kernel<2>
                                                                       : copy_by_kernel<4>)(
            dst, src, bytes, stream);
        e = cudaGetLastError();
    }
    return e ? cuda_failed(err, "copy", e) : RUNG_OK;
}
