/* Past the last k, B is filled with zeros and A is what lies there: zero times NaN is NaN. */
#include "bug.cuh"

namespace {
__global__ void inf_in_tail(sgemm_args p)
{
    __shared__ float as[SIDE][SIDE], bs[SIDE][SIDE];
    const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    const int row = tile_row(p) + ty, col = tile_col(p) + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p.k; k0 += SIDE) {
        const bool there = row < p.m && (k0 + tx < p.k || (BUG && k0 + tx < p.lda));
        as[ty][tx] = there ? p.a[row * p.lda + k0 + tx] : 0.0f;
        bs[ty][tx] = b_at(p, k0 + ty, col);
        __syncthreads();
        for (int k = 0; k < SIDE; k++)
            sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    store(p, row, col, sum);
}
} // namespace

BUG_KERNEL(inf_in_tail);
