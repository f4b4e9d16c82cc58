/* Correct at first, and never back from its launch after that: the ladder must go on without it. */
#include <rung/plugin.h>

static int launches;

static enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const struct rung_case *c = state;
    const float *a = set->operand[0].data, *b = set->operand[1].data;
    float *out = set->operand[2].data;
    (void)stream;
    while (launches >= 4)
        __asm__ volatile("" ::: "memory");
    launches++;
    for (int64_t i = 0; i < c->dim[0]; i++)
        for (int64_t j = 0; j < c->dim[1]; j++) {
            float sum = 0.0f;
            for (int64_t k = 0; k < c->dim[2]; k++)
                sum += a[i * c->ld[0] + k] * b[k * c->ld[1] + j];
            out[i * c->ld[2] + j] = c->alpha * sum;
        }
    return RUNG_OK;
}

static void cost(const struct rung_case *c, struct rung_cost *out)
{
    out->flops = 2.0 * (double)c->dim[0] * (double)c->dim[1] * (double)c->dim[2];
    out->bytes = 1.0;
}

RUNG_PLUGIN(hang) = {
    RUNG_PLUGIN_HEAD,
    .id = "hang",
    .family = "sgemm",
    .title = "hangs",
    .summary = "hangs in its fifth launch",
    .notes = "",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .launch = launch,
    .cost = cost,
};
