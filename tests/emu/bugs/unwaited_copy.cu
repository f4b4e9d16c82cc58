/* B is copied by cp.async and read after a barrier, which does not wait for copies. */
#include "bug.cuh"

namespace {
__global__ void unwaited_copy(sgemm_args p)
{
    __shared__ float bs[SIDE][SIDE];
    const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    const int row = tile_row(p) + ty, col = tile_col(p) + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p.k; k0 += SIDE) {
        const bool in = k0 + ty < p.k && col < p.n;
        rung_cp_async<4>(&bs[ty][tx], in ? &p.b[(k0 + ty) * p.ldb + col] : p.b, in);
        rung_cp_async_commit();
        rung_cp_async_wait<BUG ? 1 : 0>();
        __syncthreads();
        for (int k = 0; k < SIDE; k++)
            sum += a_at(p, row, k0 + k) * bs[k][tx];
        __syncthreads();
    }
    rung_cp_async_wait<0>();
    store(p, row, col, sum);
}
} // namespace

BUG_KERNEL(unwaited_copy);
