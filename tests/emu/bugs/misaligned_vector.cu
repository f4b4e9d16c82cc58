/* A row of A is read as float4 wherever it starts. */
#include "bug.cuh"

namespace {
__global__ void misaligned_vector(sgemm_args p)
{
    const int row = tile_row(p) + threadIdx.x / SIDE, col = tile_col(p) + threadIdx.x % SIDE;
    const bool vector = BUG || (p.lda % 4 == 0 && reinterpret_cast<uintptr_t>(p.a) % 16 == 0);
    if (row >= p.m || col >= p.n)
        return;
    float sum = 0.0f;
    int k = 0;
    for (; vector && k + 3 < p.k; k += 4) {
        const float4 a = *reinterpret_cast<const float4 *>(&p.a[row * p.lda + k]);
        sum += a.x * b_at(p, k, col);
        sum += a.y * b_at(p, k + 1, col);
        sum += a.z * b_at(p, k + 2, col);
        sum += a.w * b_at(p, k + 3, col);
    }
    for (; k < p.k; k++)
        sum += a_at(p, row, k) * b_at(p, k, col);
    store(p, row, col, sum);
}
} // namespace

BUG_KERNEL(misaligned_vector);
