/*
 * k6: k5 with 128-bit accesses, A transposed on its way into shared memory, and the next tile
 * fetched while this one is multiplied.
 *
 * k5 spends 16 shared loads on 64 FMAs. Four neighbouring words fit one 128-bit load: with a
 * thread's patch made of 4x4 quads, a k-step takes 2 loads for its 8 elements of A and 2 for B.
 * For A that works only if the 8 lie along memory, so A is stored transposed: as[k][row].
 * Copies from global memory and the stores of C move 128 bits too. So few instructions leave
 * registers free to hold the next tile: it is on its way from global memory during the 16 k-steps.
 *
 * Block: 128x128 of C, 16 deep, 256 threads as 16x16; a thread owns rows 4ty..4ty+3 and 64 on,
 * columns likewise. About 135 registers a thread, one block an SM.
 * Ledger per FMA: shared loads 2/64 with distinct words (B), 2/64 broadcast (A); global loads
 * 2/512. Requests of a warp for its 2048 FMAs in one k: 4 shared loads + 4/16 global + (8 + 2)/16
 * stores. Bytes requested per output: 8K/128 + 4.
 *
 * Rows of A past an edge are not skipped but clamped to the last one: what they compute is never
 * stored. Columns of B past an edge, and k past the last, are zeros.
 */
#include "sgemm.cuh"

namespace {

constexpr int BM = 128, BN = 128, BK = 16, SIDE = 16, TM = 8, TN = 8, THREADS = SIDE * SIDE;
/* The pad keeps rows on 16 bytes and halves the bank conflicts of the transposing stores. */
constexpr int LDA_S = BM + 4;

/* Four elements from `at`; with VEC one access, else four. `valid` of them exist. */
template <bool VEC> __device__ __forceinline__ float4 load4(const float *at, int valid)
{
    if (VEC && valid >= 4)
        return *reinterpret_cast<const float4 *>(at);
    return make_float4(valid > 0 ? at[0] : 0.0f, valid > 1 ? at[1] : 0.0f,
                       valid > 2 ? at[2] : 0.0f, valid > 3 ? at[3] : 0.0f);
}

template <bool VEC> __global__ void __launch_bounds__(THREADS) sgemm_k6(sgemm_args p)
{
    __shared__ __align__(16) float as[BK][LDA_S], bs[BK][BN];
    int tile_m, tile_n;
    sgemm_tile((p.m + BM - 1) / BM, (p.n + BN - 1) / BN, 8, &tile_m, &tile_n);
    const int row0 = tile_m * BM, col0 = tile_n * BN;
    const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;

    /* This thread copies four k of rows am and am + 64 of A, four columns of k bk and bk + 8
     * of B. */
    const int am = threadIdx.x / 4, ak = threadIdx.x % 4 * 4;
    const int bk = threadIdx.x / 32, bn = threadIdx.x % 32 * 4;
    const int b_valid = min(4, p.n - (col0 + bn));
    const float *a0 = p.a + min(row0 + am, p.m - 1) * p.lda + ak;
    const float *a1 = p.a + min(row0 + am + BM / 2, p.m - 1) * p.lda + ak;
    const float *b = p.b + bk * p.ldb + col0 + bn;
    const int64_t b_step = BK / 2 * p.ldb;
    float4 na[2], nb[2];
    float sum[TM][TN] = {};

    const auto fetch = [&](int k0) {
        na[0] = load4<VEC>(a0 + k0, p.k - k0 - ak);
        na[1] = load4<VEC>(a1 + k0, p.k - k0 - ak);
        RUNG_UNROLL
        for (int h = 0; h < 2; h++, b += b_step)
            nb[h] = load4<VEC>(b, k0 + bk + h * BK / 2 < p.k ? b_valid : 0);
    };

    fetch(0);
    for (int k0 = 0; k0 < p.k; k0 += BK) {
        RUNG_UNROLL
        for (int h = 0; h < 2; h++) {
            const int m = am + h * BM / 2;
            as[ak + 0][m] = na[h].x;
            as[ak + 1][m] = na[h].y;
            as[ak + 2][m] = na[h].z;
            as[ak + 3][m] = na[h].w;
            *reinterpret_cast<float4 *>(&bs[bk + h * BK / 2][bn]) = nb[h];
        }
        __syncthreads();
        fetch(k0 + BK);
        RUNG_UNROLL
        for (int k = 0; k < BK; k++) {
            float fa[TM], fb[TN];
            RUNG_UNROLL
            for (int h = 0; h < 2; h++) {
                *reinterpret_cast<float4 *>(&fa[4 * h]) =
                    *reinterpret_cast<const float4 *>(&as[k][h * BM / 2 + ty * 4]);
                *reinterpret_cast<float4 *>(&fb[4 * h]) =
                    *reinterpret_cast<const float4 *>(&bs[k][h * BN / 2 + tx * 4]);
            }
            RUNG_UNROLL
            for (int i = 0; i < TM; i++)
                RUNG_UNROLL
                for (int j = 0; j < TN; j++)
                    sum[i][j] += fa[i] * fb[j];
        }
        __syncthreads();
    }
    RUNG_UNROLL
    for (int i = 0; i < TM; i++)
        RUNG_UNROLL
        for (int h = 0; h < 2; h++) {
            const int row = row0 + i / 4 * (BM / 2) + ty * 4 + i % 4;
            const int col = col0 + h * (BN / 2) + tx * 4;
            if (row < p.m)
                sgemm_store4<VEC>(p, row, col, &sum[i][4 * h]);
        }
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const sgemm_args p = sgemm_unpack(state, set);
    const unsigned blocks = rung_blocks(p.m, BM) * rung_blocks(p.n, BN);
    if (!blocks)
        return RUNG_OK;
    return rung_launch(sgemm_aligned(set) ? sgemm_k6<true> : sgemm_k6<false>, dim3(blocks),
                       dim3(THREADS), 0, stream, p);
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    sgemm_cost(c, out);
    out->ledger.gmem_bytes_per_output = 8.0 * static_cast<double>(c->dim[2]) / BM + 4.0;
    out->ledger.requests_per_fma = ((TM + TN) / 4.0 + 14.0 / BK) / (32.0 * TM * TN);
    out->ledger.smem_loads_per_fma = 1.0 / (4.0 * TM);
    out->ledger.smem_broadcasts_per_fma = 1.0 / (4.0 * TN);
    out->ledger.gmem_loads_per_fma = 2.0 / (4.0 * BM);
}

const struct rung_entry entries[] = {{"sgemm_k6", RUNG_KERNEL_ADDRESS(sgemm_k6<true>)}};
const struct rung_limit limits[] = {
    {"shape", "any M, N, K below 2^31, any stride and offset"},
    {"128-bit path", "needs operands on 16 bytes and leading dimensions of 4n, else scalar"}};

} // namespace

RUNG_PLUGIN(k6) = {
    RUNG_PLUGIN_HEAD,
    .id = "k6",
    .family = "sgemm",
    .title = "128-bit accesses",
    .summary = "8x8 outputs a thread, 128x128x16 tiles, 128-bit loads and stores, A transposed",
    .notes = "Against k5: 4 shared loads for 64 FMAs instead of 16, since four words move at once, "
             "and the next tile waits in registers. Buys issue slots for the multiplier.",
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
