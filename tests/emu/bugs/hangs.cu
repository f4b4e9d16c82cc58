/* Threads spin on a flag that is set by a thread that never runs while they do. */
#include "bug.cuh"

namespace {
__global__ void hangs(sgemm_args p)
{
    const int row = tile_row(p) + threadIdx.x / SIDE, col = tile_col(p) + threadIdx.x % SIDE;
    const volatile float *c = p.c;
    float sum = 0.0f;
    for (int k = 0; k < p.k; k++)
        sum += a_at(p, row, k) * b_at(p, k, col);
    while (BUG && c[0] != 0.25f)
        ;
    store(p, row, col, sum);
}
} // namespace

BUG_KERNEL(hangs);
