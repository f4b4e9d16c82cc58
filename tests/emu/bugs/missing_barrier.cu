/* The next tile is stored while slower threads still read this one. */
#include "bug.cuh"

namespace {
__global__ void missing_barrier(sgemm_args p)
{
    __shared__ float as[SIDE][SIDE], bs[SIDE][SIDE];
    const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    const int row = tile_row(p) + ty, col = tile_col(p) + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p.k; k0 += SIDE) {
        as[ty][tx] = a_at(p, row, k0 + tx);
        bs[ty][tx] = b_at(p, k0 + ty, col);
        __syncthreads();
        for (int k = 0; k < SIDE; k++)
            sum += as[ty][k] * bs[k][tx];
        if (!BUG)
            __syncthreads();
    }
    store(p, row, col, sum);
}
} // namespace

BUG_KERNEL(missing_barrier);
