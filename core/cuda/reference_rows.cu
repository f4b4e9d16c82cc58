/*
 * The fp64 references of the row families on a GPU: a block a row, its passes in plain fp64. What
 * they compute, special values included, is said where the host has the same (core/family_rmsnorm.c,
 * core/family_softmax.c).
 */
#include "launch.cuh"

#include "../family_rows.h"

#include <float.h>
#include <math.h>

namespace {

constexpr int THREADS = 256;

struct row_args {
    const float *x, *w;
    int64_t ld, row0, n;
    double eps;
    struct rung_ref out;
};

__device__ double block_reduce(double v, bool maximum)
{
    __shared__ double part[THREADS];
    part[threadIdx.x] = v;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const double a = part[threadIdx.x], b = part[threadIdx.x + half];
            part[threadIdx.x] = maximum ? fmax(a, b) : a + b;
        }
        __syncthreads();
    }
    v = part[0];
    __syncthreads();
    return v;
}

__global__ void __launch_bounds__(THREADS) rmsnorm_reference_kernel(row_args p)
{
    const float *x = p.x + (p.row0 + blockIdx.x) * p.ld;
    double sum = 0.0;
    for (int64_t j = threadIdx.x; j < p.n; j += THREADS)
        sum += static_cast<double>(x[j]) * x[j];
    sum = block_reduce(sum, false);
    const double r = sum > FLT_MAX ? 0.0 : 1.0 / sqrt(sum / p.n + p.eps);
    for (int64_t j = threadIdx.x; j < p.n; j += THREADS) {
        const double y = x[j] * r * p.w[j];
        p.out.value[blockIdx.x * p.n + j] = y;
        p.out.magnitude[blockIdx.x * p.n + j] = static_cast<float>(fabs(y) + RUNG_ROWS_TINY);
    }
}

__global__ void __launch_bounds__(THREADS) softmax_reference_kernel(row_args p)
{
    const float *x = p.x + (p.row0 + blockIdx.x) * p.ld;
    double m = -INFINITY, sum = 0.0, mean = 0.0;
    for (int64_t j = threadIdx.x; j < p.n; j += THREADS)
        m = fmax(m, static_cast<double>(x[j]));
    m = block_reduce(m, true);
    for (int64_t j = threadIdx.x; j < p.n; j += THREADS) {
        const double d = x[j] - m, e = exp(d);
        sum += e;
        mean += e > 0.0 ? e * fabs(d) : 0.0;
    }
    sum = block_reduce(sum, false);
    mean = block_reduce(mean, false) / sum;
    for (int64_t j = threadIdx.x; j < p.n; j += THREADS) {
        const double d = x[j] - m, y = exp(d) / sum;
        p.out.value[blockIdx.x * p.n + j] = y;
        p.out.magnitude[blockIdx.x * p.n + j] =
            static_cast<float>((y > 0.0 ? y * (4.0 + fabs(d) + mean) : 0.0) + RUNG_ROWS_TINY);
    }
}

} // namespace

void rung_cuda_row_reference(const struct rung_case *c, const struct rung_set *set, int64_t row0,
                             int64_t rows, struct rung_ref out, cudaStream_t stream, bool softmax)
{
    row_args p = {};
    p.x = static_cast<const float *>(set->operand[0].data);
    p.w = static_cast<const float *>(set->operand[1].data); /* rmsnorm's */
    p.ld = c->ld[0];
    p.row0 = row0;
    p.n = c->dim[1];
    p.eps = c->eps;
    p.out = out;
    if (!rows || !p.n)
        return;
    if (softmax)
        softmax_reference_kernel<<<static_cast<unsigned>(rows), THREADS, 0, stream>>>(p);
    else
        rmsnorm_reference_kernel<<<static_cast<unsigned>(rows), THREADS, 0, stream>>>(p);
}
