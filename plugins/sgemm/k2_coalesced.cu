/*
 * k2: k1 with the two halves of the thread index swapped.
 *
 * Neighbouring threads take neighbouring COLUMNS of C. The 32 lanes now read 128 consecutive
 * bytes of B, four full sectors, share one element of A, and store 128 consecutive
 * bytes of C. Not one instruction more or less: only which thread does what.
 *
 * What it should buy: sectors per request from 32 to 4, so several times k1's rate. The ledger
 * is k1's, since threads ask for the same words: 2 global loads per FMA, 1/16 request.
 */
#include "sgemm.cuh"

namespace {

constexpr int SIDE = 32;

__global__ void __launch_bounds__(SIDE *SIDE) sgemm_k2(sgemm_args p)
{
    const int tiles_m = (p.m + SIDE - 1) / SIDE;
    const int64_t row = static_cast<int64_t>(blockIdx.x % tiles_m) * SIDE + threadIdx.x / SIDE;
    const int64_t col = static_cast<int64_t>(blockIdx.x / tiles_m) * SIDE + threadIdx.x % SIDE;
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
    return blocks ? rung_launch(sgemm_k2, dim3(blocks), dim3(SIDE * SIDE), 0, stream, p) : RUNG_OK;
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    sgemm_cost(c, out);
    out->ledger.gmem_bytes_per_output = 8.0 * static_cast<double>(c->dim[2]) + 4.0;
    out->ledger.requests_per_fma = 2.0 / 32.0;
    out->ledger.gmem_loads_per_fma = 2.0;
}

const struct rung_entry entries[] = {{"sgemm_k2", RUNG_KERNEL_ADDRESS(sgemm_k2)}};
const struct rung_limit limits[] = {{"shape", "any M, N, K below 2^31, any stride and offset"}};

} // namespace

RUNG_PLUGIN(k2) = {
    RUNG_PLUGIN_HEAD,
    .id = "k2",
    .family = "sgemm",
    .title = "coalesced",
    .summary = "one thread an output, neighbouring threads in neighbouring columns",
    .notes = "k1 with the index map swapped: a warp reads B and writes C in 128 consecutive bytes and "
             "shares one element of A. Buys coalescing, sectors per request from 32 to 4.",
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
