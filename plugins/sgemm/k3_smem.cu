/*
 * k3: a 32x32 tile of C a block; A and B pass through shared memory.
 *
 * k2 asks the caches for two words per FMA. Here a block copies a 32x32 tile of A and of B
 * into shared memory, and each word is then used by 32 threads. Global traffic falls by 32;
 * what remains is that every FMA still takes two loads, now from shared memory.
 *
 * Ledger per FMA: global loads 2/32. Shared loads: 1 with distinct words (the row of B across the
 * warp), 1 broadcast (one element of A for all lanes). Requests of a warp for 32 FMAs: 2 shared
 * + 2/32 global + 2/32 stores to shared = 2.125, per thread's FMA 0.0664. So the shared pipe,
 * not DRAM, is the wall: one FMA in three instructions.
 * Bytes requested per output: 8K/32 + 4.
 */
#include "sgemm.cuh"

namespace {

constexpr int SIDE = 32;

__global__ void __launch_bounds__(SIDE *SIDE) sgemm_k3(sgemm_args p)
{
    __shared__ float as[SIDE][SIDE], bs[SIDE][SIDE];
    const int tiles_m = (p.m + SIDE - 1) / SIDE;
    const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    const int64_t row = static_cast<int64_t>(blockIdx.x % tiles_m) * SIDE + ty;
    const int64_t col = static_cast<int64_t>(blockIdx.x / tiles_m) * SIDE + tx;
    float sum = 0.0f;

    for (int k0 = 0; k0 < p.k; k0 += SIDE) {
        /* Past an edge both tiles hold zero: zero times whatever is there would not do. */
        as[ty][tx] = row < p.m && k0 + tx < p.k ? p.a[row * p.lda + k0 + tx] : 0.0f;
        bs[ty][tx] = k0 + ty < p.k && col < p.n ? p.b[(k0 + ty) * p.ldb + col] : 0.0f;
        __syncthreads();
        RUNG_UNROLL
        for (int k = 0; k < SIDE; k++)
            sum += as[ty][k] * bs[k][tx];
        __syncthreads(); /* nobody may overwrite a tile that others still read */
    }
    if (row >= p.m || col >= p.n)
        return;
    float *c = &p.c[row * p.ldc + col];
    *c = sgemm_output(p, sum, c);
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const sgemm_args p = sgemm_unpack(state, set);
    const unsigned blocks = rung_blocks(p.m, SIDE) * rung_blocks(p.n, SIDE);
    return blocks ? rung_launch(sgemm_k3, dim3(blocks), dim3(SIDE * SIDE), 0, stream, p) : RUNG_OK;
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    sgemm_cost(c, out);
    out->ledger.gmem_bytes_per_output = 8.0 * static_cast<double>(c->dim[2]) / SIDE + 4.0;
    out->ledger.requests_per_fma = (2.0 + 4.0 / SIDE) / 32.0;
    out->ledger.smem_loads_per_fma = 1.0;
    out->ledger.smem_broadcasts_per_fma = 1.0;
    out->ledger.gmem_loads_per_fma = 2.0 / SIDE;
}

const struct rung_entry entries[] = {{"sgemm_k3", RUNG_KERNEL_ADDRESS(sgemm_k3)}};
const struct rung_limit limits[] = {{"shape", "any M, N, K below 2^31, any stride and offset"}};

} // namespace

RUNG_PLUGIN(k3) = {
    RUNG_PLUGIN_HEAD,
    .id = "k3",
    .family = "sgemm",
    .title = "shared-memory tiles",
    .summary = "32x32 tiles of A and B in shared memory, one thread an output",
    .notes = "Against k2: each word fetched from global memory serves 32 threads. Buys a 32 times "
             "smaller global traffic; the wall becomes two shared loads for every FMA.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC | RUNG_TRAIT_GRAPH_CAPTURABLE,
    .entries = entries,
    .n_entries = 1,
    .limits = limits,
    .n_limits = 1,
    .accepts = sgemm_accepts,
    .launch = launch,
    .cost = cost,
};
