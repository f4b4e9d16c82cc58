/*
 * c2: c1 cut into blocks that fit the cache, and its loops turned so that the inner one runs along
 * memory.
 *
 * c1 walks down a column of B for every output: a cache line for 4 bytes, and all of B from memory for
 * every row of A. Here 64 rows of a 64x256 block of B (64 KiB) are used 64 times before the next block, and the
 * inner loop adds a multiple of a row of B to a row of C, which the compiler can vectorise.
 *
 * Ledger per FMA: a load of B and a load and a store of C, vectors of them; 1/256 load of A.
 */
#include <rung/plugin.h>

enum { BM = 64, BN = 256, BK = 64 };

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* C = beta * C; beta == 0 must not read it. */
static void scale(const struct rung_case *c, float *out)
{
    for (int64_t i = 0; i < c->dim[0]; i++)
        for (int64_t j = 0; j < c->dim[1]; j++) {
            float *to = &out[i * c->ld[2] + j];
            *to = c->beta != 0.0f ? c->beta * *to : 0.0f;
        }
}

static void block(const struct rung_case *c, const float *a, const float *b, float *restrict out,
                  int64_t m, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++) {
            const float x = c->alpha * a[i * c->ld[0] + p];
            const float *restrict row = b + p * c->ld[1];
            float *restrict to = out + i * c->ld[2];
            for (int64_t j = 0; j < n; j++)
                to[j] += x * row[j];
        }
}

static enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const struct rung_case *c = state;
    const float *a = set->operand[0].data, *b = set->operand[1].data;
    float *out = set->operand[2].data;
    const int64_t m = c->dim[0], n = c->dim[1], k = c->alpha == 0.0f ? 0 : c->dim[2];
    (void)stream;

    scale(c, out);
    for (int64_t j = 0; j < n; j += BN)
        for (int64_t p = 0; p < k; p += BK)
            for (int64_t i = 0; i < m; i += BM)
                block(c, a + i * c->ld[0] + p, b + p * c->ld[1] + j, out + i * c->ld[2] + j,
                      smaller(BM, m - i), smaller(BN, n - j), smaller(BK, k - p));
    return RUNG_OK;
}

static void cost(const struct rung_case *c, struct rung_cost *out)
{
    const double m = (double)c->dim[0], n = (double)c->dim[1], k = (double)c->dim[2];
    out->flops = 2.0 * m * n * k;
    out->bytes = 4.0 * (m * k + k * n + m * n * (c->beta != 0.0f ? 2.0 : 1.0));
}

static const struct rung_limit limits[] = {{"shape", "any M, N, K, any stride and offset"}};

RUNG_PLUGIN(c2) = {
    RUNG_PLUGIN_HEAD,
    .id = "c2",
    .family = "sgemm",
    .title = "cache-blocked",
    .summary = "64x256 blocks of B stay in the cache, the inner loop runs along memory",
    .notes = "Against c1: B is read from memory once per 64 rows of A instead of once a row, and whole "
             "cache lines of it. Buys the memory's and most of the cache's waits.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC,
    .limits = limits,
    .n_limits = 1,
    .launch = launch,
    .cost = cost,
};
