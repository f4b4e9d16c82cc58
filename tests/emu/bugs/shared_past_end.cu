/* A fetch of the next k runs one row past the tile in shared memory. */
#include "bug.cuh"

namespace {
__global__ void shared_past_end(sgemm_args p)
{
    __shared__ float bs[SIDE][SIDE];
    const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    const int row = tile_row(p) + ty, col = tile_col(p) + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p.k; k0 += SIDE) {
        bs[ty][tx] = b_at(p, k0 + ty, col);
        __syncthreads();
        float b = bs[0][tx];
        for (int k = 0; k < SIDE; k++) {
            const float *flat = &bs[0][0];
            const float next = BUG || k + 1 < SIDE ? flat[(k + 1) * SIDE + tx] : 0.0f;
            sum += a_at(p, row, k0 + k) * b;
            b = next;
        }
        __syncthreads();
    }
    store(p, row, col, sum);
}
} // namespace

BUG_KERNEL(shared_past_end);
