/* One column too many: the last thread of the last row writes past the end of C. */
#include "bug.cuh"

namespace {
__global__ void global_write_past_end(sgemm_args p)
{
    const int row = tile_row(p) + threadIdx.x / SIDE, col = tile_col(p) + threadIdx.x % SIDE;
    if (row >= p.m || col >= p.n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < p.k; k++)
        sum += p.a[row * p.lda + k] * p.b[k * p.ldb + col];
    store(p, row, col, sum);
    if (BUG && row == p.m - 1 && col == p.n - 1)
        p.c[row * p.ldc + col + 1] = sum;
}
} // namespace

BUG_KERNEL(global_write_past_end);
