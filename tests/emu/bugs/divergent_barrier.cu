/* Threads past the edge return before the barrier that the others wait at. */
#include "bug.cuh"

namespace {
__global__ void divergent_barrier(sgemm_args p)
{
    __shared__ float bs[SIDE][SIDE];
    const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    const int row = tile_row(p) + ty, col = tile_col(p) + tx;
    float sum = 0.0f;
    if (BUG && row >= p.m)
        return;
    for (int k0 = 0; k0 < p.k; k0 += SIDE) {
        bs[ty][tx] = b_at(p, k0 + ty, col);
        __syncthreads();
        for (int k = 0; k < SIDE; k++)
            sum += a_at(p, row, k0 + k) * bs[k][tx];
        __syncthreads();
    }
    store(p, row, col, sum);
}
} // namespace

BUG_KERNEL(divergent_barrier);
