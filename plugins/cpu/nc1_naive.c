/*
 * nc1: RMSNorm by its definition, each row twice: the squares, then the products.
 *
 * The sum is kept in double: one chain of float additions over a long row loses more than
 * the family's bound allows.
 *
 * Ledger: 12 bytes an element, x read twice and y written once.
 */
#include <rung/plugin.h>

#include <math.h>

static enum rung_status rmsnorm_nc1(void *state, const struct rung_set *set, void *stream)
{
    const struct rung_case *c = state;
    const float *w = set->operand[1].data;
    const int64_t n = c->dim[1];
    (void)stream;

    for (int64_t i = 0; i < c->dim[0] && n; i++) {
        const float *x = (const float *)set->operand[0].data + i * c->ld[0];
        float *y = (float *)set->operand[2].data + i * c->ld[2];
        double sum = 0.0;
        for (int64_t j = 0; j < n; j++)
            sum += (double)(x[j] * x[j]); /* overflows as f32 does */
        const float factor = 1.0f / sqrtf((float)(sum / (double)n) + c->eps);
        for (int64_t j = 0; j < n; j++)
            y[j] = x[j] * factor * w[j];
    }
    return RUNG_OK;
}

static void cost(const struct rung_case *c, struct rung_cost *out)
{
    const double m = (double)c->dim[0], n = (double)c->dim[1];
    out->flops = 4.0 * m * n;
    out->bytes = 8.0 * m * n + 4.0 * n;
    out->ledger.gmem_bytes_per_output = 12.0;
    out->ledger.passes = 2.0;
}

static const struct rung_limit limits[] = {{"shape", "any rows and columns, stride and offset"}};

RUNG_PLUGIN(nc1) = {
    RUNG_PLUGIN_HEAD,
    .id = "nc1",
    .family = "rmsnorm",
    .title = "naive",
    .summary = "two loops over each row",
    .notes = "The definition of the operation, on one thread; the reference of the cpu device.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC,
    .limits = limits,
    .n_limits = sizeof limits / sizeof limits[0],
    .launch = rmsnorm_nc1,
    .cost = cost,
};
