/*
 * k1: naive, one thread an output, and the index map the wrong way round on purpose.
 *
 * Neighbouring threads take neighbouring ROWS of C. Row-major rows lie a whole leading dimension
 * apart, so each of the 32 lanes of a warp touches its own 32-byte sector: for a load of A
 * 32 sectors of which 4 bytes each are used, and the same for the store of C. All lanes share
 * the element of B.
 *
 * Ledger, per FMA of a thread: 2 global loads; a warp needs 2 requests for 32 FMAs, 1/16 a
 * thread's FMA. Bytes requested by threads per output: 8K + 4.
 */
#include "sgemm.cuh"

namespace {

constexpr int SIDE = 32;

__global__ void __launch_bounds__(SIDE *SIDE) sgemm_k1(sgemm_args p)
{
    const int tiles_m = (p.m + SIDE - 1) / SIDE;
    const int64_t row = static_cast<int64_t>(blockIdx.x % tiles_m) * SIDE + threadIdx.x % SIDE;
    const int64_t col = static_cast<int64_t>(blockIdx.x / tiles_m) * SIDE + threadIdx.x / SIDE;
    if (row >= p.m || col >= p.n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < p.k; k++)
        sum += p.a[row * p.lda + k] * p.b[k * p.ldb + col];
    float *c = &p.c[row * p.ldc + col];
    *c = sgemm_output(p, sum, c);
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const sgemm_args p = sgemm_unpack(state, set);
    const unsigned blocks = rung_blocks(p.m, SIDE) * rung_blocks(p.n, SIDE);
    return blocks ? rung_launch(sgemm_k1, dim3(blocks), dim3(SIDE * SIDE), 0, stream, p) : RUNG_OK;
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    sgemm_cost(c, out);
    out->ledger.gmem_bytes_per_output = 8.0 * static_cast<double>(c->dim[2]) + 4.0;
    out->ledger.requests_per_fma = 2.0 / 32.0;
    out->ledger.gmem_loads_per_fma = 2.0;
}

const struct rung_entry entries[] = {{"sgemm_k1", RUNG_KERNEL_ADDRESS(sgemm_k1)}};
const struct rung_limit limits[] = {{"shape", "any M, N, K below 2^31, any stride and offset"}};

} // namespace

RUNG_PLUGIN(k1) = {
    RUNG_PLUGIN_HEAD,
    .id = "k1",
    .family = "sgemm",
    .title = "naive, uncoalesced",
    .summary = "one thread an output, neighbouring threads in neighbouring rows",
    .notes = "The starting point. A warp's load of A touches 32 sectors to use 128 bytes; when the "
             "leading dimension is a power of two they also fall into the same sets of the cache.",
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
