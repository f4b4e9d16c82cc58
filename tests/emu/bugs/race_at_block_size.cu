/* A neighbour's word is read without a barrier, in blocks of N threads: does the build see races at
 * every block size? */
#include "bug.cuh"

namespace {
__global__ void race_at_block_size(sgemm_args p)
{
    __shared__ float row[1024];
    const int me = threadIdx.x, n = blockDim.x;
    float sum = 0.0f;
    row[me] = 0.0f;
    __syncthreads();
    for (int k = 0; k < p.k; k++) {
        row[me] = p.b[k * p.ldb + me];
        if (!BUG)
            __syncthreads();
        /* The neighbour's word, handed back by its owner's neighbour: the value is right either way. */
        const float other = row[(me + n / 2) % n];
        sum += p.a[blockIdx.x * p.lda + k] * (other == row[me] ? other : p.b[k * p.ldb + me]);
        __syncthreads();
    }
    store(p, blockIdx.x, me, sum);
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const sgemm_args p = sgemm_unpack(state, set);
    return p.m && p.n ? rung_launch(race_at_block_size, dim3(p.m), dim3(p.n), 0, stream, p) : RUNG_OK;
}
} // namespace

BUG_PLUGIN(race_at_block_size);
