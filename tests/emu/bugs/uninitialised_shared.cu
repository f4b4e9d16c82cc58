/* Rows of the tile past the last k are not filled, and read all the same. */
#include "bug.cuh"

namespace {
__global__ void uninitialised_shared(sgemm_args p)
{
    __shared__ float bs[SIDE][SIDE];
    const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    const int row = tile_row(p) + ty, col = tile_col(p) + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p.k; k0 += SIDE) {
        if (!BUG || k0 + ty < p.k)
            bs[ty][tx] = b_at(p, k0 + ty, col);
        __syncthreads();
        for (int k = 0; k < SIDE; k++)
            sum += a_at(p, row, k0 + k) * bs[k][tx];
        __syncthreads();
    }
    store(p, row, col, sum);
}
} // namespace

BUG_KERNEL(uninitialised_shared);
