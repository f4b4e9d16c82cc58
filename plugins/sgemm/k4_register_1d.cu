/*
 * k4: a column of 8 outputs a thread.
 *
 * In k3 each FMA loads both its operands from shared memory. A thread that owns 8 outputs of one
 * column loads an element of B once and uses it 8 times, out of a register.
 *
 * Block: 64x64 of C, 8 deep, 512 threads of 8x1.
 * Ledger per FMA: shared loads 1/8 with distinct words (B) and 1 broadcast (A; neighbouring k lie
 * together, so the compiler may take four in one instruction). Global loads 2/64.
 * Requests of a warp for its 256 FMAs in one k: 9 shared + (2 global + 2 stores) / 8 = 9.5.
 * Bytes requested per output: 8K/64 + 4.
 */
#include "sgemm.cuh"

namespace {

constexpr int BM = 64, BN = 64, BK = 8, TM = 8, THREADS = BM * BN / TM;

__global__ void __launch_bounds__(THREADS) sgemm_k4(sgemm_args p)
{
    __shared__ float as[BM][BK], bs[BK][BN];
    const int tiles_m = (p.m + BM - 1) / BM;
    const int64_t row0 = static_cast<int64_t>(blockIdx.x % tiles_m) * BM;
    const int64_t col0 = static_cast<int64_t>(blockIdx.x / tiles_m) * BN;
    const int tx = threadIdx.x % BN, ty = threadIdx.x / BN;
    const int am = threadIdx.x / BK, ak = threadIdx.x % BK; /* what this thread copies of A */
    float sum[TM] = {};

    for (int k0 = 0; k0 < p.k; k0 += BK) {
        as[am][ak] = row0 + am < p.m && k0 + ak < p.k ? p.a[(row0 + am) * p.lda + k0 + ak] : 0.0f;
        bs[ty][tx] = k0 + ty < p.k && col0 + tx < p.n ? p.b[(k0 + ty) * p.ldb + col0 + tx] : 0.0f;
        __syncthreads();
        RUNG_UNROLL
        for (int k = 0; k < BK; k++) {
            const float b = bs[k][tx];
            RUNG_UNROLL
            for (int i = 0; i < TM; i++)
                sum[i] += as[ty * TM + i][k] * b;
        }
        __syncthreads();
    }
    RUNG_UNROLL
    for (int i = 0; i < TM; i++) {
        const int64_t row = row0 + ty * TM + i, col = col0 + tx;
        if (row >= p.m || col >= p.n)
            continue;
        float *c = &p.c[row * p.ldc + col];
        *c = sgemm_output(p, sum[i], c);
    }
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const sgemm_args p = sgemm_unpack(state, set);
    const unsigned blocks = rung_blocks(p.m, BM) * rung_blocks(p.n, BN);
    return blocks ? rung_launch(sgemm_k4, dim3(blocks), dim3(THREADS), 0, stream, p) : RUNG_OK;
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    sgemm_cost(c, out);
    out->ledger.gmem_bytes_per_output = 8.0 * static_cast<double>(c->dim[2]) / BM + 4.0;
    out->ledger.requests_per_fma = (TM + 1 + 4.0 / BK) / (32.0 * TM);
    out->ledger.smem_loads_per_fma = 1.0 / TM;
    out->ledger.smem_broadcasts_per_fma = 1.0;
    out->ledger.gmem_loads_per_fma = 2.0 / BM;
}

const struct rung_entry entries[] = {{"sgemm_k4", RUNG_KERNEL_ADDRESS(sgemm_k4)}};
const struct rung_limit limits[] = {{"shape", "any M, N, K below 2^31, any stride and offset"}};

} // namespace

RUNG_PLUGIN(k4) = {
    RUNG_PLUGIN_HEAD,
    .id = "k4",
    .family = "sgemm",
    .title = "1-D register tiles",
    .summary = "8 outputs of one column a thread, 64x64x8 tiles",
    .notes = "Against k3: an element of B is loaded from shared memory once for 8 FMAs. Buys half of "
             "the shared loads; those of A remain, one for every FMA.",
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
