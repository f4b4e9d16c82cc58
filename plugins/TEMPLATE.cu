/*
 * mykernel: what this kernel changes against the one it started from, and what that should buy.
 *
 * SGEMM, C = alpha A B + beta C, row-major, one thread an output: correct for every shape, and
 * slow. Replace the kernel; keep what the launch does with K of 0, with beta of 0, with
 * empty operands and with leading dimensions.
 *
 * Ledger per FMA of a thread: 2 global loads. Bytes requested per output: 8K + 4.
 */
#include <rung/gpu.h>

namespace {

constexpr int SIDE = 16;

struct args {
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc; /* elements between the starts of rows */
    int64_t m, n, k;
    float alpha, beta;
};

__global__ void __launch_bounds__(SIDE *SIDE) mykernel(args p)
{
    const int64_t tiles_n = (p.n + SIDE - 1) / SIDE;
    const int64_t row = blockIdx.x / tiles_n * SIDE + threadIdx.x / SIDE;
    const int64_t col = blockIdx.x % tiles_n * SIDE + threadIdx.x % SIDE;
    if (row >= p.m || col >= p.n)
        return;
    float sum = 0.0f;
    for (int64_t k = 0; k < p.k; k++)
        sum += p.a[row * p.lda + k] * p.b[k * p.ldb + col];
    float *c = &p.c[row * p.ldc + col];
    /* beta == 0 must not read C: NaN times zero is NaN. */
    *c = p.beta != 0.0f ? p.alpha * sum + p.beta * *c : p.alpha * sum;
}

/* Without a prepare of our own, the state is the case. */
enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const struct rung_case *c = static_cast<const struct rung_case *>(state);
    args p;
    p.a = static_cast<const float *>(set->operand[0].data);
    p.b = static_cast<const float *>(set->operand[1].data);
    p.c = static_cast<float *>(set->operand[2].data);
    p.lda = c->ld[0];
    p.ldb = c->ld[1];
    p.ldc = c->ld[2];
    p.m = c->dim[0];
    p.n = c->dim[1];
    p.k = c->alpha == 0.0f ? 0 : c->dim[2]; /* alpha == 0 must not read A or B */
    p.alpha = c->alpha;
    p.beta = c->beta;
    const unsigned blocks = rung_blocks(p.m, SIDE) * rung_blocks(p.n, SIDE);
    return blocks ? rung_launch(mykernel, dim3(blocks), dim3(SIDE * SIDE), 0, stream, p) : RUNG_OK;
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    const double m = static_cast<double>(c->dim[0]), n = static_cast<double>(c->dim[1]);
    const double k = static_cast<double>(c->dim[2]);
    out->flops = 2.0 * m * n * k;
    out->bytes = 4.0 * (m * k + k * n + m * n * (c->beta != 0.0f ? 2.0 : 1.0));
    out->ledger.gmem_bytes_per_output = 8.0 * k + 4.0;
    out->ledger.requests_per_fma = 2.0 / 32.0;
    out->ledger.gmem_loads_per_fma = 2.0;
}

/* By name, so that registers, spills and machine code can be shown. */
const struct rung_entry entries[] = {{"mykernel", RUNG_KERNEL_ADDRESS(mykernel)}};

} // namespace

RUNG_PLUGIN(mykernel) = {
    RUNG_PLUGIN_HEAD,
    .id = "mykernel",
    .family = "sgemm",
    .title = "a few words",
    .summary = "one line",
    .notes = "what it changes, and what that should buy",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC | RUNG_TRAIT_GRAPH_CAPTURABLE,
    .entries = entries,
    .n_entries = 1,
    .launch = launch,
    .cost = cost,
};
