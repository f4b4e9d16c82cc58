/* The next element of A is fetched ahead without asking whether there is one. */
#include "bug.cuh"

namespace {
__global__ void global_read_past_end(sgemm_args p)
{
    const int row = tile_row(p) + threadIdx.x / SIDE, col = tile_col(p) + threadIdx.x % SIDE;
    if (row >= p.m || col >= p.n)
        return;
    float sum = 0.0f, a = p.k > 0 ? p.a[row * p.lda] : 0.0f;
    for (int k = 0; k < p.k; k++) {
        const float next = BUG || k + 1 < p.k ? p.a[row * p.lda + k + 1] : 0.0f;
        sum += a * p.b[k * p.ldb + col];
        a = next;
    }
    store(p, row, col, sum);
}
} // namespace

BUG_KERNEL(global_read_past_end);
