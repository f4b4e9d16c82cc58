/*
 * sc1: softmax by its definition, each row three times: the largest, the sum, the quotients.
 *
 * The sum is kept in double: one chain of float additions over a long row loses more than
 * the family's bound allows. fmaxf passes over NaN, the sum does not; a row that is -inf
 * throughout gives -inf - -inf, NaN.
 *
 * Ledger: 16 bytes an element, x read three times and y written once.
 */
#include <rung/plugin.h>

#include <math.h>

static enum rung_status softmax_sc1(void *state, const struct rung_set *set, void *stream)
{
    const struct rung_case *c = state;
    const int64_t n = c->dim[1];
    (void)stream;

    for (int64_t i = 0; i < c->dim[0]; i++) {
        const float *x = (const float *)set->operand[0].data + i * c->ld[0];
        float *y = (float *)set->operand[1].data + i * c->ld[1];
        float max = -INFINITY;
        double sum = 0.0;
        for (int64_t j = 0; j < n; j++)
            max = fmaxf(max, x[j]);
        for (int64_t j = 0; j < n; j++)
            sum += (double)expf(x[j] - max);
        const float factor = (float)(1.0 / sum);
        for (int64_t j = 0; j < n; j++)
            y[j] = expf(x[j] - max) * factor;
    }
    return RUNG_OK;
}

static void cost(const struct rung_case *c, struct rung_cost *out)
{
    const double m = (double)c->dim[0], n = (double)c->dim[1];
    out->flops = 4.0 * m * n;
    out->bytes = 8.0 * m * n;
    out->ledger.gmem_bytes_per_output = 16.0;
    out->ledger.passes = 3.0;
}

static const struct rung_limit limits[] = {{"shape", "any rows and columns, stride and offset"}};

RUNG_PLUGIN(sc1) = {
    RUNG_PLUGIN_HEAD,
    .id = "sc1",
    .family = "softmax",
    .title = "naive",
    .summary = "three loops over each row",
    .notes = "The definition of the operation, on one thread; the reference of the cpu device.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC,
    .limits = limits,
    .n_limits = sizeof limits / sizeof limits[0],
    .launch = softmax_sc1,
    .cost = cost,
};
