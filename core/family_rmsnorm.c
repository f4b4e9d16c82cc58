/* RMSNorm: y[i,j] = x[i,j] * rsqrt(mean_j(x[i,j]^2) + eps) * w[j], rows independent, f32. */
#include "family_rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void rmsnorm_set_ld(struct rung_case *c, int64_t pad)
{
    c->ld[0] = c->ld[2] = c->dim[1] + pad;
}

static uint32_t rmsnorm_operands(const struct rung_case *c, struct rung_operand *out)
{
    rung_rows_operand(&out[0], "x", RUNG_IN, c->dim[0], c->dim[1], c->ld[0]);
    rung_rows_operand(&out[1], "w", RUNG_IN, 1, c->dim[1], c->dim[1]);
    rung_rows_operand(&out[2], "y", RUNG_OUT, c->dim[0], c->dim[1], c->ld[2]);
    return 3;
}

static bool rmsnorm_reads(const struct rung_case *c, uint32_t operand)
{
    (void)c;
    return operand < 2;
}

/*
 * |error| <= factor * u * |y|, u = 2^-24.
 *
 * Two products, the square root and the division round by a few u. The sum of squares has
 * positive terms: each of the d additions that a term passes through rounds by at most u of
 * the sum, in random directions, so the sum is off by about u sqrt(d) / 3, and y by half of that. The longest
 * chain that is allowed for is a whole row, d = N.
 */
static double rmsnorm_tolerance(const struct rung_case *c)
{
    return 6.0 + sqrt((double)c->dim[1]) / 6.0;
}

static const char *rmsnorm_reference_id(const char *kind)
{
    if (!strcmp(kind, "cuda"))
        return "n1";
    return strcmp(kind, "cpu") ? NULL : "nc1";
}

/*
 * A sum of squares beyond FLT_MAX is infinite in f32, and the row becomes zeros: the formula as f32 has
 * it, which is what kernels and torch compute, not the one in the reals.
 */
void rung_rmsnorm_reference(const struct rung_case *c, const struct rung_set *set, int64_t row0,
                            int64_t rows, struct rung_ref out)
{
    const float *w = set->operand[1].data;
    const int64_t n = c->dim[1];
    for (int64_t i = 0; i < rows; i++) {
        const float *x = (const float *)set->operand[0].data + (row0 + i) * c->ld[0];
        double sum = 0.0;
        for (int64_t j = 0; j < n; j++)
            sum += (double)x[j] * (double)x[j];
        const double r = sum > (double)FLT_MAX ? 0.0 : 1.0 / sqrt(sum / (double)n + (double)c->eps);
        for (int64_t j = 0; j < n; j++) {
            const double y = (double)x[j] * r * (double)w[j];
            out.value[i * n + j] = y;
            out.magnitude[i * n + j] = (float)(fabs(y) + RUNG_ROWS_TINY);
        }
    }
}

/* Rows of x in turn: zeros; 1e20, whose squares overflow; one NaN; one infinity; tiny numbers; usual. */
static float rmsnorm_special(const struct rung_case *c, uint32_t operand, int64_t row, int64_t col,
                             float usual)
{
    if (operand != 0)
        return usual;
    switch (row % 6) {
    case 0: return 0.0f;
    case 1: return c->dim[1] > 1 ? 1e20f : usual;
    case 2: return col == c->dim[1] / 2 ? NAN : usual;
    case 3: return col == c->dim[1] - 1 ? INFINITY : usual;
    case 4: return c->eps > 0.0f ? usual * 1e-30f : usual;
    default: return usual;
    }
}

const struct rung_family rung_family_rmsnorm = {
    .name = "rmsnorm",
    .summary = "y = x * rsqrt(mean(x^2) + eps) * w, a row at a time, f32",
    .shape_help = "ROWSxCOLS",
    .n_dims = 2,
    .dim_name = {"rows", "cols"},
    .scalars = "e",
    .vectors = 1u << 1,
    .edges = rung_row_edges,
    .n_edges = RUNG_N_ROW_EDGES,
    .default_shapes = "8192x3584",
    .default_shapes_cpu = "64x3584",
    .output = 2,
    .memory_bound = true,
    .shape = rung_rows_shape,
    .set_ld = rmsnorm_set_ld,
    .operands = rmsnorm_operands,
    .reads = rmsnorm_reads,
    .tolerance = rmsnorm_tolerance,
    .int_range = rung_rows_int_range,
    .special = rmsnorm_special,
    .reference_id = rmsnorm_reference_id,
};
