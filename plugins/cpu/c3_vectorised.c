/*
 * c3: A and B packed in the order they are used in, and a block of C held in registers.
 *
 * c2 loads and stores C for every k. Here a micro-kernel keeps MR rows of two vectors of C in registers for
 * KC steps: per k it loads two vectors of B and broadcasts MR elements of A for 2 MR vector FMAs. Packing makes
 * both streams contiguous, whatever the leading dimensions are: A in panels of MR rows, B in panels of
 * two vectors, k by k, zeros past the edges. The widest vectors that this CPU has are chosen at run time.
 *
 * Ledger per vector FMA: (2 + MR) / (2 MR) loads; MR = 14 with AVX-512, 6 with AVX2, 4 elsewhere.
 */
#include <rung/plugin.h>

#include <string.h>

enum { KC = 384, MC = 168, NC = 4096, MR_MAX = 14, NR_MAX = 32 };

/* acc[MR][2] over kc steps of panels a (MR a step) and b (two vectors a step), stored to a dense tile. */
#define MICRO_KERNEL(name, attribute, WIDTH, MR)                                            \
    typedef float name##_v __attribute__((vector_size(4 * WIDTH), aligned(4)));             \
    attribute static void name(const float *a, const float *b, int64_t kc, float *tile)     \
    {                                                                                       \
        name##_v acc[MR][2];                                                                \
        memset(acc, 0, sizeof acc);                                                         \
        for (int64_t k = 0; k < kc; k++, a += MR, b += 2 * WIDTH) {                         \
            const name##_v b0 = *(const name##_v *)b, b1 = *(const name##_v *)(b + WIDTH);  \
            _Pragma("GCC unroll 16") for (int i = 0; i < MR; i++)                           \
            {                                                                               \
                acc[i][0] += a[i] * b0;                                                     \
                acc[i][1] += a[i] * b1;                                                     \
            }                                                                               \
        }                                                                                   \
        _Pragma("GCC unroll 16") for (int i = 0; i < MR; i++)                               \
        {                                                                                   \
            *(name##_v *)(tile + i * 2 * WIDTH) = acc[i][0];                                \
            *(name##_v *)(tile + i * 2 * WIDTH + WIDTH) = acc[i][1];                        \
        }                                                                                   \
    }

#if defined(__x86_64__)
MICRO_KERNEL(micro_avx512, __attribute__((target("avx512f"), optimize("O3"))), 16, 14)
MICRO_KERNEL(micro_avx2, __attribute__((target("avx2,fma"), optimize("O3"))), 8, 6)
#endif
MICRO_KERNEL(micro_portable, __attribute__((optimize("O3"))), 4, 4)

struct micro {
    void (*run)(const float *a, const float *b, int64_t kc, float *tile);
    int mr, nr;
};

static struct micro choose(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return (struct micro){micro_avx512, 14, 32};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (struct micro){micro_avx2, 6, 16};
#endif
    return (struct micro){micro_portable, 4, 8};
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Panels of mr rows, k by k; rows past m are zeros. */
static void pack_a(const float *a, int64_t ld, int64_t m, int64_t k, int mr, float *to)
{
    for (int64_t i0 = 0; i0 < m; i0 += mr, to += mr * k)
        for (int64_t i = 0; i < mr; i++) {
            const float *row = &a[(i0 + i) * ld];
            const bool there = i0 + i < m;
            for (int64_t p = 0; p < k; p++)
                to[p * mr + i] = there ? row[p] : 0.0f;
        }
}

/* Panels of nr columns, k by k; columns past n are zeros. */
static void pack_b(const float *b, int64_t ld, int64_t k, int64_t n, int nr, float *to)
{
    for (int64_t j0 = 0; j0 < n; j0 += nr)
        for (int64_t p = 0; p < k; p++, to += nr) {
            const int64_t here = smaller(nr, n - j0);
            memcpy(to, &b[p * ld + j0], (size_t)here * sizeof *to);
            memset(to + here, 0, (size_t)(nr - here) * sizeof *to);
        }
}

/* The first block of k brings beta * C in; beta == 0 must not read it. */
__attribute__((optimize("O3"))) static void write_back(const struct rung_case *c,
                                                       const float *restrict tile, int nr,
                                                       float *restrict out, int64_t m, int64_t n,
                                                       bool first)
{
    const float alpha = c->alpha, beta = first ? c->beta : 1.0f;
    for (int64_t i = 0; i < m; i++, tile += nr, out += c->ld[2]) {
        if (beta == 0.0f)
            for (int64_t j = 0; j < n; j++)
                out[j] = alpha * tile[j];
        else
            for (int64_t j = 0; j < n; j++)
                out[j] = alpha * tile[j] + beta * out[j];
    }
}

static size_t workspace_bytes(const struct rung_case *c)
{
    (void)c;
    return sizeof(float) * (KC * (MC + MR_MAX) + (size_t)KC * (NC + NR_MAX) + MR_MAX * NR_MAX);
}

static enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const struct rung_case *c = state;
    const struct micro micro = choose();
    const float *a = set->operand[0].data, *b = set->operand[1].data;
    float *out = set->operand[2].data;
    float *pa = set->workspace, *pb = pa + KC * (MC + MR_MAX), *tile = pb + KC * (NC + NR_MAX);
    const int64_t m = c->dim[0], n = c->dim[1], k = c->alpha == 0.0f ? 0 : c->dim[2];
    (void)stream;

    memset(tile, 0, MR_MAX * NR_MAX * sizeof *tile);
    for (int64_t j = 0; k == 0 && j < n; j++)
        for (int64_t i = 0; i < m; i++)
            write_back(c, tile, NR_MAX, &out[i * c->ld[2] + j], 1, 1, true);
    for (int64_t j0 = 0; j0 < n; j0 += NC)
        for (int64_t p0 = 0; p0 < k; p0 += KC) {
            const int64_t kc = smaller(KC, k - p0), nc = smaller(NC, n - j0);
            pack_b(b + p0 * c->ld[1] + j0, c->ld[1], kc, nc, micro.nr, pb);
            for (int64_t i0 = 0; i0 < m; i0 += MC) {
                const int64_t mc = smaller(MC, m - i0);
                pack_a(a + i0 * c->ld[0] + p0, c->ld[0], mc, kc, micro.mr, pa);
                for (int64_t j = 0; j < nc; j += micro.nr)
                    for (int64_t i = 0; i < mc; i += micro.mr) {
                        micro.run(pa + i * kc, pb + j * kc, kc, tile);
                        write_back(c, tile, micro.nr, out + (i0 + i) * c->ld[2] + j0 + j,
                                   smaller(micro.mr, mc - i), smaller(micro.nr, nc - j), p0 == 0);
                    }
            }
        }
    return RUNG_OK;
}

static void cost(const struct rung_case *c, struct rung_cost *out)
{
    const double m = (double)c->dim[0], n = (double)c->dim[1], k = (double)c->dim[2];
    out->flops = 2.0 * m * n * k;
    out->bytes = 4.0 * (m * k + k * n + m * n * (c->beta != 0.0f ? 2.0 : 1.0));
}

static const struct rung_limit limits[] = {
    {"shape", "any M, N, K, any stride and offset"},
    {"vectors", "AVX-512 or AVX2 with FMA where the CPU has them, else 4 wide"}};

RUNG_PLUGIN(c3) = {
    RUNG_PLUGIN_HEAD,
    .id = "c3",
    .family = "sgemm",
    .title = "packed, vectorised",
    .summary = "a block of C in registers, A and B packed in the order of use",
    .notes = "Against c2: C stays in registers for 384 steps of k instead of being loaded and stored in each. "
             "Buys the FMA units.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC,
    .limits = limits,
    .n_limits = sizeof limits / sizeof limits[0],
    .workspace_bytes = workspace_bytes,
    .launch = launch,
    .cost = cost,
};
