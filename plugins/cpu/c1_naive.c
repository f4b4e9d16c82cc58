/*
 * c1: the definition, three loops.
 *
 * Each output is one dot product: a row of A, which lies along memory, and a column of B,
 * which does not. Every step of the inner loop touches another cache line of B, so that
 * at large N a FMA waits for memory.
 *
 * Ledger (one thread, no cache assumed): 2 loads per FMA, one of them strided.
 */
#include <rung/plugin.h>

static enum rung_status sgemm_c1(void *state, const struct rung_set *set, void *stream)
{
    const struct rung_case *c = state;
    const float *a = set->operand[0].data, *b = set->operand[1].data;
    float *out = set->operand[2].data;
    const int64_t k_end = c->alpha == 0.0f ? 0 : c->dim[2];
    (void)stream;

    for (int64_t i = 0; i < c->dim[0]; i++)
        for (int64_t j = 0; j < c->dim[1]; j++) {
            float sum = 0.0f;
            for (int64_t k = 0; k < k_end; k++)
                sum += a[i * c->ld[0] + k] * b[k * c->ld[1] + j];
            float *to = &out[i * c->ld[2] + j];
            sum = k_end ? c->alpha * sum : 0.0f;
            *to = c->beta != 0.0f ? sum + c->beta * *to : sum;
        }
    return RUNG_OK;
}

static void cost(const struct rung_case *c, struct rung_cost *out)
{
    const double m = (double)c->dim[0], n = (double)c->dim[1], k = (double)c->dim[2];
    out->flops = 2.0 * m * n * k;
    out->bytes = 4.0 * (m * k + k * n + m * n * (c->beta != 0.0f ? 2.0 : 1.0));
    out->ledger.gmem_loads_per_fma = 2.0;
    out->ledger.gmem_bytes_per_output = 8.0 * k + 4.0;
}

static const struct rung_limit limits[] = {{"shape", "any M, N, K, leading dimension and offset"}};

RUNG_PLUGIN(c1) = {
    RUNG_PLUGIN_HEAD,
    .id = "c1",
    .family = "sgemm",
    .title = "naive",
    .summary = "three loops, one dot product an output",
    .notes = "The definition of the operation. B is read down its columns, a cache line for each "
             "element used; everything above this rung is about not doing that.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC,
    .limits = limits,
    .n_limits = sizeof limits / sizeof limits[0],
    .launch = sgemm_c1,
    .cost = cost,
};
