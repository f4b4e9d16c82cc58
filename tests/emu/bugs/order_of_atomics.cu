/* Threads add their share of the sum of k with atomicAdd: rounding follows the order. */
#include "bug.cuh"

namespace {
__global__ void order_of_atomics(sgemm_args p)
{
    __shared__ float sum[SIDE];
    const int lane = threadIdx.x % SIDE, part = threadIdx.x / SIDE;
    for (int r = 0; r < SIDE; r++) {
        const int row = tile_row(p) + r, col = tile_col(p) + lane;
        if (part == 0)
            sum[lane] = 0.0f;
        __syncthreads();
        for (int turn = 0; turn < SIDE; turn++) {
            if (BUG || turn == part) {
                float share = 0.0f;
                for (int k = BUG ? turn * SIDE + part : part; k < p.k; k += BUG ? SIDE * SIDE : SIDE)
                    share += a_at(p, row, k) * b_at(p, k, col);
                atomicAdd(&sum[lane], share);
            }
            __syncthreads();
        }
        if (part == 0)
            store(p, row, col, sum[lane]);
        __syncthreads();
    }
}
} // namespace

BUG_KERNEL(order_of_atomics);
