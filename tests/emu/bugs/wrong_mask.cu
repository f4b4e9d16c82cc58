/* All lanes shuffle, and the mask names half of them. */
#include "bug.cuh"

namespace {
__global__ void wrong_mask(sgemm_args p)
{
    const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    const int row = tile_row(p) + ty, col = tile_col(p) + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p.k; k0 += SIDE) {
        const float a = a_at(p, row, k0 + tx);
        for (int k = 0; k < SIDE; k++)
            sum += __shfl_sync(BUG ? 0x0000ffffu : 0xffffffffu, a, k, SIDE) * b_at(p, k0 + k, col);
    }
    store(p, row, col, sum);
}
} // namespace

BUG_KERNEL(wrong_mask);
