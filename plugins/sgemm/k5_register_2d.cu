/*
 * k5: a patch of 8x8 outputs a thread.
 *
 * k4 reuses B in registers but loads A for every FMA. An 8x8 patch needs 8 + 8 loads for 64
 * FMAs: reuse in both directions, the outer product. From here on the multiplier is
 * what the kernel waits for, and loads are what it must get out of the way.
 *
 * Block: 128x128 of C, 8 deep, 256 threads as 16x16. A thread's rows and columns are 16 apart, so
 * that a warp's loads of B fall into different banks and its stores of C into whole sectors.
 * Ledger per FMA: 1/8 shared load with distinct words (B: 16 of them), 1/8 broadcast (A: two
 * words a warp); global loads 2/128. Requests of a warp for its 2048 FMAs in one k: 16 shared
 * + 2 * 4 / 8 global + as many stores = 18. Bytes requested per output: 8K/128 + 4.
 */
#include "sgemm.cuh"

namespace {

constexpr int BM = 128, BN = 128, BK = 8, SIDE = 16, TM = BM / SIDE, TN = BN / SIDE;
constexpr int THREADS = SIDE * SIDE;

/* Two blocks an SM: one computes while the other waits at its barrier. */
__global__ void __launch_bounds__(THREADS, 2) sgemm_k5(sgemm_args p)
{
    __shared__ float as[BM][BK + 1], bs[BK][BN];
    int tile_m, tile_n;
    sgemm_tile((p.m + BM - 1) / BM, (p.n + BN - 1) / BN, 8, &tile_m, &tile_n);
    const int row0 = tile_m * BM, col0 = tile_n * BN;
    const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    float sum[TM][TN] = {};

    /* This thread copies four k of one row of A, and of one row of B four columns 32 apart. Past
     * M the last row is copied again: what it computes is never stored. Past K both tiles
     * must hold zero, since zero times anything else may be NaN. */
    const int am = threadIdx.x / 2, ak = threadIdx.x % 2 * 4;
    const int bk = threadIdx.x / 32, bn = threadIdx.x % 32;
    const float *a = p.a + min(row0 + am, p.m - 1) * p.lda + ak;
    const float *b = p.b + bk * p.ldb + col0 + bn;

    for (int k0 = 0; k0 < p.k; k0 += BK) {
        RUNG_UNROLL
        for (int e = 0; e < 4; e++) {
            as[am][ak + e] = k0 + ak + e < p.k ? a[e] : 0.0f;
            bs[bk][bn + 32 * e] = k0 + bk < p.k && col0 + bn + 32 * e < p.n ? b[32 * e] : 0.0f;
        }
        a += BK;
        b += BK * p.ldb;
        __syncthreads();
        RUNG_UNROLL
        for (int k = 0; k < BK; k++) {
            float af[TM], bf[TN];
            RUNG_UNROLL
            for (int i = 0; i < TM; i++)
                af[i] = as[ty + i * SIDE][k];
            RUNG_UNROLL
            for (int j = 0; j < TN; j++)
                bf[j] = bs[k][tx + j * SIDE];
            RUNG_UNROLL
            for (int i = 0; i < TM; i++)
                RUNG_UNROLL
                for (int j = 0; j < TN; j++)
                    sum[i][j] += af[i] * bf[j];
        }
        __syncthreads();
    }
    RUNG_UNROLL
    for (int i = 0; i < TM; i++) {
        const int row = row0 + ty + i * SIDE, col = col0 + tx;
        if (row >= p.m)
            return;
        float *c = p.c + row * p.ldc + col;
        RUNG_UNROLL
        for (int j = 0; j < TN; j++)
            if (col + j * SIDE < p.n)
                c[j * SIDE] = sgemm_output(p, sum[i][j], &c[j * SIDE]);
    }
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const sgemm_args p = sgemm_unpack(state, set);
    const unsigned blocks = rung_blocks(p.m, BM) * rung_blocks(p.n, BN);
    return blocks ? rung_launch(sgemm_k5, dim3(blocks), dim3(THREADS), 0, stream, p) : RUNG_OK;
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    sgemm_cost(c, out);
    out->ledger.gmem_bytes_per_output = 8.0 * static_cast<double>(c->dim[2]) / BM + 4.0;
    out->ledger.requests_per_fma = (TM + TN + 2.0 * (BM + BN) / THREADS) / (32.0 * TM * TN);
    out->ledger.smem_loads_per_fma = 1.0 / TM;
    out->ledger.smem_broadcasts_per_fma = 1.0 / TN;
    out->ledger.gmem_loads_per_fma = 2.0 / BM;
}

const struct rung_entry entries[] = {{"sgemm_k5", RUNG_KERNEL_ADDRESS(sgemm_k5)}};
const struct rung_limit limits[] = {{"shape", "any M, N, K below 2^31, any stride and offset"}};

} // namespace

RUNG_PLUGIN(k5) = {
    RUNG_PLUGIN_HEAD,
    .id = "k5",
    .family = "sgemm",
    .title = "2-D register tiles",
    .summary = "8x8 outputs a thread, 128x128x8 tiles, scalar loads",
    .notes = "Against k4: reuse in both directions, 16 shared loads for 64 FMAs instead of 72. Buys "
             "the step from load-bound to near the multiplier's own rate.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC | RUNG_TRAIT_GRAPH_CAPTURABLE,
    .entries = entries,
    .n_entries = 1,
    .limits = limits,
    .n_limits = sizeof limits / sizeof limits[0],
    .accepts = sgemm_accepts,
    .launch = launch,
    .cost = cost,
};
