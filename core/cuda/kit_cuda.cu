/* The kit on a GPU: fill, compare, checksum and scan as grid-stride loops on the device's
 * own stream, so that they are ordered with the kernel under test. */
#include "../compare.h"
#include "launch.cuh"

#include <cstring>

namespace {

typedef unsigned long long u64;

constexpr unsigned THREADS = 256;

cudaStream_t stream_of(struct rung_device *dev)
{
    return static_cast<cudaStream_t>(dev->stream);
}

enum rung_status finish(struct rung_device *dev, const char *what, struct rung_err *err)
{
    cudaError_t e = cudaGetLastError();
    if (!e)
        e = cudaStreamSynchronize(stream_of(dev));
    return e ? cuda_failed(err, what, e) : RUNG_OK;
}

__device__ inline int64_t place(struct rung_view v, uint64_t at)
{
    const int64_t row = static_cast<int64_t>(at) / v.cols;
    return row * v.ld + (static_cast<int64_t>(at) - row * v.cols);
}

#define GRID_STRIDE(i, n)                                                                   \
    for (uint64_t i = blockIdx.x * static_cast<uint64_t>(blockDim.x) + threadIdx.x; i < (n); \
         i += static_cast<uint64_t>(gridDim.x) * blockDim.x)

__global__ void fill_kernel(struct rung_view v, struct rung_fill f, uint64_t n)
{
    GRID_STRIDE(i, n)
        static_cast<uint32_t *>(v.data)[place(v, i)] = rung_fill_value(f, i);
}

struct compare_totals {
    u64 wrong, nan, unwritten, first;
    u64 worst_bits; /* of a non-negative double: ordered like the number */
};

__global__ void compare_kernel(struct rung_view v, struct rung_ref ref,
                               struct rung_tolerance tol, uint64_t n, compare_totals *out)
{
    u64 wrong = 0, nan = 0, unwritten = 0, first = RUNG_NO_INDEX;
    double worst = 0.0;
    GRID_STRIDE(i, n) {
        const float got = static_cast<const float *>(v.data)[place(v, i)];
        const float mag = ref.magnitude[i];
        const double want = ref.value[i];
        worst = fmax(worst, rung_element_error(got, want, mag));
        if (rung_element_ok(got, want, mag, tol))
            continue;
        wrong++;
        nan += isnan(got);
        unwritten += rung_float_bits(got) == RUNG_POISON_BITS;
        first = i < first ? i : first;
    }
    if (wrong) {
        atomicAdd(&out->wrong, wrong);
        atomicAdd(&out->nan, nan);
        atomicAdd(&out->unwritten, unwritten);
        atomicMin(&out->first, first);
    }
    if (worst > 0.0)
        atomicMax(&out->worst_bits, static_cast<u64>(__double_as_longlong(worst)));
}

__global__ void checksum_kernel(struct rung_view v, uint64_t n, u64 *out)
{
    u64 sum = 0;
    GRID_STRIDE(i, n)
        sum += rung_checksum_word(
            i, rung_float_bits(static_cast<const float *>(v.data)[place(v, i)]));
    for (int d = 16; d; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}

__global__ void scan_kernel(struct rung_view v, uint32_t bits, uint64_t n, u64 *bad, u64 *first)
{
    GRID_STRIDE(i, n) {
        const int64_t at = place(v, i);
        if (static_cast<const uint32_t *>(v.data)[at] == bits)
            continue;
        atomicAdd(bad, 1ull);
        atomicMin(first, static_cast<u64>(at));
    }
}

uint64_t count_of(struct rung_view v)
{
    return static_cast<uint64_t>(v.rows) * static_cast<uint64_t>(v.cols);
}

enum rung_status cuda_fill(struct rung_device *dev, struct rung_view v, struct rung_fill f,
                           struct rung_err *err)
{
    const uint64_t n = count_of(v);
    if (n)
        fill_kernel<<<stride_blocks(n, THREADS), THREADS, 0, stream_of(dev)>>>(v, f, n);
    return finish(dev, "fill", err);
}

enum rung_status cuda_compare(struct rung_device *dev, struct rung_view got, struct rung_ref ref,
                              struct rung_tolerance tol, struct rung_compare *out,
                              struct rung_err *err)
{
    const uint64_t n = count_of(got);
    compare_totals t = {0, 0, 0, RUNG_NO_INDEX, 0};
    device_result<compare_totals> result;
    cudaError_t e = result.init(t);
    if (e)
        return cuda_failed(err, "compare", e);
    if (n)
        compare_kernel<<<stride_blocks(n, THREADS), THREADS, 0, stream_of(dev)>>>(got, ref, tol, n,
                                                                                  result.ptr);
    enum rung_status s = finish(dev, "compare", err);
    if (s)
        return s;
    if ((e = result.read(&t)))
        return cuda_failed(err, "compare", e);

    struct rung_compare r = {};
    r.wrong = t.wrong;
    r.nan = t.nan;
    r.unwritten = t.unwritten;
    r.first = t.first;
    memcpy(&r.worst, &t.worst_bits, sizeof r.worst);
    if (r.first != RUNG_NO_INDEX) {
        const int64_t row = static_cast<int64_t>(r.first) / got.cols;
        const int64_t at = row * got.ld + (static_cast<int64_t>(r.first) - row * got.cols);
        float mag = 0;
        e = cudaMemcpy(&r.got, static_cast<float *>(got.data) + at, sizeof r.got,
                       cudaMemcpyDeviceToHost);
        if (!e)
            e = cudaMemcpy(&r.want, ref.value + r.first, sizeof r.want, cudaMemcpyDeviceToHost);
        if (!e)
            e = cudaMemcpy(&mag, ref.magnitude + r.first, sizeof mag, cudaMemcpyDeviceToHost);
        if (e)
            return cuda_failed(err, "compare", e);
        r.allowed = rung_allowed(tol, mag);
    }
    *out = r;
    return RUNG_OK;
}

enum rung_status cuda_checksum(struct rung_device *dev, struct rung_view v, uint64_t *out,
                               struct rung_err *err)
{
    const uint64_t n = count_of(v);
    u64 sum = 0;
    device_result<u64> result;
    cudaError_t e = result.init(sum);
    if (e)
        return cuda_failed(err, "checksum", e);
    if (n)
        checksum_kernel<<<stride_blocks(n, THREADS), THREADS, 0, stream_of(dev)>>>(v, n,
                                                                                   result.ptr);
    enum rung_status s = finish(dev, "checksum", err);
    if (s)
        return s;
    if ((e = result.read(&sum)))
        return cuda_failed(err, "checksum", e);
    *out = sum;
    return RUNG_OK;
}

struct scan_totals {
    u64 bad, first;
};

enum rung_status cuda_scan(struct rung_device *dev, struct rung_view v, uint32_t bits,
                           uint64_t *bad, uint64_t *first, struct rung_err *err)
{
    const uint64_t n = count_of(v);
    scan_totals t = {0, RUNG_NO_INDEX};
    device_result<scan_totals> result;
    cudaError_t e = result.init(t);
    if (e)
        return cuda_failed(err, "scan", e);
    if (n)
        scan_kernel<<<stride_blocks(n, THREADS), THREADS, 0, stream_of(dev)>>>(
            v, bits, n, &result.ptr->bad, &result.ptr->first);
    enum rung_status s = finish(dev, "scan", err);
    if (s)
        return s;
    if ((e = result.read(&t)))
        return cuda_failed(err, "scan", e);
    *bad = t.bad;
    *first = t.first;
    return RUNG_OK;
}

enum rung_status cuda_reference(struct rung_device *dev, const struct rung_case *c,
                                const struct rung_set *set, const float *c0, int64_t row0,
                                int64_t rows, struct rung_ref out, struct rung_err *err)
{
    enum rung_status s = RUNG_OK;
    if (!strcmp(c->family, "rmsnorm") || !strcmp(c->family, "softmax"))
        rung_cuda_row_reference(c, set, row0, rows, out, stream_of(dev), c->family[0] == 's');
    else if (!strcmp(c->family, "sgemm"))
        s = rung_cuda_sgemm_reference(c, set, c0, row0, rows, out, stream_of(dev), err);
    else
        s = rung_fail(err, RUNG_E_UNAVAILABLE, "no cuda reference for family %s", c->family);
    return s ? s : finish(dev, "reference", err);
}

} // namespace

extern "C" const struct rung_kit rung_kit_cuda = {cuda_fill, cuda_compare, cuda_checksum,
                                                  cuda_scan, cuda_reference};
