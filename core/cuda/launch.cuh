/* Helpers of the core's own device code. */
#ifndef RUNG_CUDA_LAUNCH_CUH
#define RUNG_CUDA_LAUNCH_CUH

#include "../device.h"

#include <cuda_runtime.h>

namespace {

inline enum rung_status cuda_failed(struct rung_err *err, const char *what, cudaError_t e)
{
    return rung_fail(err, e == cudaErrorMemoryAllocation ? RUNG_E_NOMEM : RUNG_E_DEVICE,
                     "%s: %s (%s)", what, cudaGetErrorString(e), cudaGetErrorName(e));
}

/* Blocks for a grid-stride loop over n elements: enough to fill any GPU, never too many. */
inline unsigned stride_blocks(uint64_t n, unsigned threads)
{
    const uint64_t want = (n + threads - 1) / threads;
    return static_cast<unsigned>(want < 1 ? 1 : want > 8192 ? 8192 : want);
}

/* A result record in device memory, zeroed, read back and freed by its destructor. */
template <class T> struct device_result {
    T *ptr = nullptr;
    cudaError_t init(const T &value)
    {
        cudaError_t e = cudaMalloc(&ptr, sizeof(T));
        return e ? e : cudaMemcpy(ptr, &value, sizeof(T), cudaMemcpyHostToDevice);
    }
    cudaError_t read(T *out) { return cudaMemcpy(out, ptr, sizeof(T), cudaMemcpyDeviceToHost); }
    ~device_result() { cudaFree(ptr); }
};

} // namespace

/* Defined in reference.cu. */
enum rung_status rung_cuda_sgemm_reference(const struct rung_case *c, const struct rung_set *set,
                                           const float *c0, int64_t row0, int64_t rows,
                                           struct rung_ref out, cudaStream_t stream,
                                           struct rung_err *err);

/* Defined in reference_rows.cu. */
void rung_cuda_row_reference(const struct rung_case *c, const struct rung_set *set, int64_t row0,
                             int64_t rows, struct rung_ref out, cudaStream_t stream, bool softmax);

#endif
