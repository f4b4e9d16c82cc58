/* SGEMM: C[M,N] = alpha * A[M,K] * B[K,N] + beta * C[M,N], row-major f32. */
#include "family.h"

#include <math.h>
#include <string.h>

/* Chosen so that each tile edge of the ladder (32, 64, 128) is met from below, exactly and
 * from above, in each dimension; then degenerate sizes, odd strides, offsets and scalars. */
static const struct rung_edge edges[] = {
    {{1, 1, 1, 0}, 0, 0, 1, 0, false},
    {{1, 1, 0, 0}, 0, 0, 1, 1, false},
    {{5, 7, 0, 0}, 0, 0, 1, 0, false},
    {{0, 9, 4, 0}, 0, 0, 1, 0, false},
    {{9, 0, 4, 0}, 0, 0, 1, 0, false},
    {{31, 33, 17, 0}, 0, 0, 1, 0, false},
    {{32, 32, 32, 0}, 0, 0, 1, 0, false},
    {{33, 31, 65, 0}, 3, 0, 1, 0, false},
    {{64, 64, 64, 0}, 0, 0, 2, -1, false},
    {{63, 65, 1, 0}, 0, 1, 1, 0, false},
    {{127, 129, 33, 0}, 1, 0, 1, 1, false},
    {{128, 128, 128, 0}, 0, 0, 1, 0, false},
    {{128, 128, 128, 0}, 4, 0, 1, 0.5f, false},
    {{129, 127, 9, 0}, 0, 3, -1, 2, false},
    {{132, 260, 20, 0}, 0, 0, 1, 0, false},
    {{100, 100, 100, 0}, 0, 1, 0, 1, false},
    {{100, 100, 100, 0}, 0, 0, 0, 0, false},
    {{1, 300, 257, 0}, 0, 0, 1, 0, false},
    {{300, 1, 257, 0}, 0, 0, 1, 0, false},
    {{2, 3, 1000, 0}, 0, 0, 1, 0, false},
    {{32, 512, 96, 0}, 0, 0, 1, 0, false},
    {{257, 255, 130, 0}, 2, 2, 3, 4, false},
    {{384, 256, 72, 0}, 0, 0, 1, 0, false},
    {{512, 512, 512, 0}, 0, 0, 1, 0, false},
};

static enum rung_status sgemm_shape(const int64_t *v, size_t n, struct rung_case *c,
                                    struct rung_err *err)
{
    if (n != 1 && n != 3)
        return rung_fail(err, RUNG_E_USAGE, "sgemm takes N (square) or M N K, not %zu numbers", n);
    for (size_t i = 0; i < 3; i++)
        c->dim[i] = v[n == 1 ? 0 : i];
    return RUNG_OK;
}

static void sgemm_set_ld(struct rung_case *c, int64_t pad)
{
    c->ld[0] = c->dim[2] + pad;
    c->ld[1] = c->dim[1] + pad;
    c->ld[2] = c->dim[1] + pad;
}

static uint32_t sgemm_operands(const struct rung_case *c, struct rung_operand *out)
{
    static const struct {
        const char *name;
        int row, col;
    } shape[3] = {{"A", 0, 2}, {"B", 2, 1}, {"C", 0, 1}};

    for (uint32_t i = 0; i < 3; i++) {
        memset(&out[i], 0, sizeof out[i]);
        out[i].name = shape[i].name;
        out[i].role = i < 2 ? RUNG_IN : c->beta != 0.0f ? RUNG_INOUT : RUNG_OUT;
        out[i].dtype = RUNG_F32;
        out[i].n_dims = 2;
        out[i].dim[0] = c->dim[shape[i].row];
        out[i].dim[1] = c->dim[shape[i].col];
        out[i].dim[2] = out[i].dim[3] = 1;
        out[i].stride[0] = c->ld[i];
        out[i].stride[1] = 1;
    }
    return 3;
}

static bool sgemm_reads(const struct rung_case *c, uint32_t operand)
{
    return operand < 2 ? c->alpha != 0.0f : c->beta != 0.0f;
}

/*
 * |error| <= factor * u * (|alpha||A||B| + |beta||C|), u = 2^-24, factor = 4 * min(sqrt(K), 4).
 *
 * With operands uniform in [-1, 1) the rounding of each partial sum is a random step of about
 * 0.4 u |s_k| and |s_k| grows like sqrt(k) / 3: after K steps the error is about 0.09 K u, its
 * largest of 10^7 elements under 0.55 K u, while |A||B| is near K / 4. So a correct kernel
 * needs a factor near 2 at any K, in any order of summation; for few terms, which do not
 * average, up to 4 (a product, two scalings and an add, each rounded). The cap is what keeps
 * a bound of c sqrt(K) u from letting TF32 through at K in the thousands.
 * docs/decisions/0003-error-bound.md has the measured values.
 */
static double sgemm_tolerance(const struct rung_case *c)
{
    const double root = sqrt((double)(c->dim[2] > 1 ? c->dim[2] : 1));
    return 4.0 * fmin(root, 4.0);
}

/* range^2 * K * |alpha| + range * |beta| < 2^24, so that every partial sum is a whole number f32 holds. */
static int32_t sgemm_int_range(const struct rung_case *c)
{
    const double scale = fmax(1.0, fabs((double)c->alpha));
    for (int32_t r = 8; r > 1; r--)
        if ((double)r * r * (double)c->dim[2] * scale + r * fabs((double)c->beta) < 16777216.0)
            return r;
    return 1;
}

static const char *sgemm_reference_id(const char *kind)
{
    if (!strcmp(kind, "cuda"))
        return "k0";
    return strcmp(kind, "cpu") ? NULL : "c0";
}

const struct rung_family rung_family_sgemm = {
    .name = "sgemm",
    .summary = "C[M,N] = alpha * A[M,K] * B[K,N] + beta * C, row-major f32",
    .shape_help = "N or MxNxK",
    .n_dims = 3,
    .dim_name = {"M", "N", "K"},
    .scalars = "ab",
    .edges = edges,
    .n_edges = sizeof edges / sizeof edges[0],
    .default_shapes = "1024,2048,4096",
    .default_shapes_cpu = "256,512",
    .output = 2,
    .shape = sgemm_shape,
    .set_ld = sgemm_set_ld,
    .operands = sgemm_operands,
    .reads = sgemm_reads,
    .tolerance = sgemm_tolerance,
    .int_range = sgemm_int_range,
    .exact = true,
    .reference_id = sgemm_reference_id,
};
