/*
 * c0: OpenBLAS on one thread, the reference of the cpu ladder.
 *
 * The library is loaded in prepare, so that rung starts, lists and runs the rest where it is
 * not installed. RUNG_OPENBLAS names a file to use instead of the system's.
 */
#include <rung/plugin.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111 };

typedef void (*sgemm_fn)(int, int, int, int, int, int, float, const float *, int, const float *,
                         int, float, float *, int);

/* Loaded once and kept: OpenBLAS starts threads that do not survive being unloaded. */
static sgemm_fn cblas_sgemm;

static bool fits_int(int64_t x)
{
    return x <= INT32_MAX;
}

static bool accepts(const struct rung_case *c, char *reason, size_t cap)
{
    for (int i = 0; i < 3; i++)
        if (!fits_int(c->dim[i]) || !fits_int(c->ld[i])) {
            strncpy(reason, "OpenBLAS takes dimensions below 2^31", cap - 1);
            return false;
        }
    return true;
}

static enum rung_status prepare(const struct rung_env *env, const struct rung_case *c,
                                const struct rung_set *sets, size_t n_sets, void **state)
{
    const char *asked = getenv("RUNG_OPENBLAS");
    const char *const name[] = {asked ? asked : "libopenblas.so.0", asked ? NULL : "libopenblas.so",
                                NULL};
    void *so = NULL;
    (void)sets, (void)n_sets;

    for (size_t i = 0; name[i] && !so; i++)
        so = dlopen(name[i], RTLD_NOW | RTLD_LOCAL);
    if (!so)
        return env->fail(env->ctx, RUNG_E_UNAVAILABLE,
                         "OpenBLAS does not load (%s): install libopenblas0, or let RUNG_OPENBLAS "
                         "name its file", name[0]);
    void *sgemm = dlsym(so, "cblas_sgemm"), *threads = dlsym(so, "openblas_set_num_threads");
    void *config = dlsym(so, "openblas_get_config");
    if (!sgemm || !threads)
        return env->fail(env->ctx, RUNG_E_UNAVAILABLE, "%s has no cblas_sgemm or no "
                         "openblas_set_num_threads: it is not OpenBLAS", name[0]);
    void (*set_threads)(int);
    char *(*get_config)(void);
    memcpy(&cblas_sgemm, &sgemm, sizeof sgemm);
    memcpy(&set_threads, &threads, sizeof threads);
    set_threads(1);
    if (config) {
        memcpy(&get_config, &config, sizeof config);
        env->note(env->ctx, "openblas", get_config());
    }
    *state = (void *)c;
    return RUNG_OK;
}

/* beta * C, and nothing of A and B: what BLAS leaves to the implementation when NaN is about. */
static void scale(const struct rung_case *c, float *out)
{
    for (int64_t i = 0; i < c->dim[0]; i++)
        for (int64_t j = 0; j < c->dim[1]; j++) {
            float *to = &out[i * c->ld[2] + j];
            *to = c->beta != 0.0f ? c->beta * *to : 0.0f;
        }
}

static int at_least_one(int64_t ld)
{
    return ld > 0 ? (int)ld : 1;
}

static enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const struct rung_case *c = state;
    (void)stream;
    if (c->alpha == 0.0f || c->dim[2] == 0)
        scale(c, set->operand[2].data);
    else if (c->dim[0] && c->dim[1])
        cblas_sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, (int)c->dim[0], (int)c->dim[1],
                    (int)c->dim[2], c->alpha, set->operand[0].data, at_least_one(c->ld[0]),
                    set->operand[1].data, at_least_one(c->ld[1]), c->beta, set->operand[2].data,
                    at_least_one(c->ld[2]));
    return RUNG_OK;
}

static void cost(const struct rung_case *c, struct rung_cost *out)
{
    const double m = (double)c->dim[0], n = (double)c->dim[1], k = (double)c->dim[2];
    out->flops = 2.0 * m * n * k;
    out->bytes = 4.0 * (m * k + k * n + m * n * (c->beta != 0.0f ? 2.0 : 1.0));
}

static const struct rung_limit limits[] = {{"shape", "M, N, K and leading dimensions below 2^31"}};

RUNG_PLUGIN(c0) = {
    RUNG_PLUGIN_HEAD,
    .id = "c0",
    .family = "sgemm",
    .title = "OpenBLAS, one thread",
    .summary = "cblas_sgemm of the OpenBLAS found on this machine",
    .notes = "The mark that the cpu ladder is measured against.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC | RUNG_TRAIT_LIBRARY_CALL,
    .limits = limits,
    .n_limits = sizeof limits / sizeof limits[0],
    .accepts = accepts,
    .prepare = prepare,
    .launch = launch,
    .cost = cost,
};
