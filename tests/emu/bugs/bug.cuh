/*
 * What the planted bugs share: SGEMM in 16x16 tiles, 256 threads a block, and the descriptor.
 * Each file is built twice, with BUG 1 and with BUG 0: the twin without the mistake must pass.
 */
#ifndef RUNG_BUG_CUH
#define RUNG_BUG_CUH

#include "sgemm.cuh"

namespace {

constexpr int SIDE = 16;

__device__ inline int tile_row(const sgemm_args &p)
{
    return static_cast<int>(blockIdx.x) / ((p.n + SIDE - 1) / SIDE) * SIDE;
}
__device__ inline int tile_col(const sgemm_args &p)
{
    return static_cast<int>(blockIdx.x) % ((p.n + SIDE - 1) / SIDE) * SIDE;
}
__device__ inline float a_at(const sgemm_args &p, int row, int k)
{
    return row < p.m && k < p.k ? p.a[row * p.lda + k] : 0.0f;
}
__device__ inline float b_at(const sgemm_args &p, int k, int col)
{
    return k < p.k && col < p.n ? p.b[k * p.ldb + col] : 0.0f;
}
__device__ inline void store(const sgemm_args &p, int row, int col, float sum)
{
    if (row < p.m && col < p.n) {
        float *c = &p.c[row * p.ldc + col];
        *c = sgemm_output(p, sum, c);
    }
}

} // namespace

#define BUG_PLUGIN(ident)                                                                   \
    RUNG_PLUGIN(ident) = {RUNG_PLUGIN_HEAD, .id = #ident, .family = "sgemm",                \
                          .title = "planted bug", .summary = #ident, .notes = "",           \
                          .target = RUNG_TARGET_NAME, .build = RUNG_BUILD_FACTS,            \
                          .accepts = sgemm_accepts, .launch = launch, .cost = sgemm_cost}

/* BUG_KERNEL(id): the plugin of a kernel of that name. */
#define BUG_KERNEL(ident)                                                                   \
    namespace {                                                                             \
    enum rung_status launch(void *state, const struct rung_set *set, void *stream)         \
    {                                                                                       \
        const sgemm_args p = sgemm_unpack(state, set);                                      \
        const unsigned blocks = rung_blocks(p.m, SIDE) * rung_blocks(p.n, SIDE);            \
        return blocks ? rung_launch(ident, dim3(blocks), dim3(SIDE * SIDE), 0, stream, p)   \
                      : RUNG_OK;                                                            \
    }                                                                                       \
    }                                                                                       \
    BUG_PLUGIN(ident)

#endif
