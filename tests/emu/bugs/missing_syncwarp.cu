/* Lanes exchange their elements of A through shared memory without waiting for each other. */
#include "bug.cuh"

namespace {
__global__ void missing_syncwarp(sgemm_args p)
{
    __shared__ float line[SIDE * SIDE];
    const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    const int row = tile_row(p) + ty, col = tile_col(p) + tx;
    float sum = 0.0f;
    line[threadIdx.x] = 0.0f;
    __syncthreads();
    for (int k0 = 0; k0 < p.k; k0 += SIDE) {
        line[threadIdx.x] = a_at(p, row, k0 + tx);
        if (!BUG)
            __syncwarp();
        for (int k = 0; k < SIDE; k++)
            sum += line[ty * SIDE + k] * b_at(p, k0 + k, col);
        __syncwarp();
    }
    store(p, row, col, sum);
}
} // namespace

BUG_KERNEL(missing_syncwarp);
