/* Softmax: y[i,j] = exp(x[i,j] - max_j x[i,j]) / sum_j exp(...), rows independent, f32. */
#include "family_rows.h"

#include <math.h>
#include <string.h>

static void softmax_set_ld(struct rung_case *c, int64_t pad)
{
    c->ld[0] = c->ld[1] = c->dim[1] + pad;
}

static uint32_t softmax_operands(const struct rung_case *c, struct rung_operand *out)
{
    rung_rows_operand(&out[0], "x", RUNG_IN, c->dim[0], c->dim[1], c->ld[0]);
    rung_rows_operand(&out[1], "y", RUNG_OUT, c->dim[0], c->dim[1], c->ld[1]);
    return 2;
}

static bool softmax_reads(const struct rung_case *c, uint32_t operand)
{
    (void)c;
    return operand == 0;
}

/*
 * |error| <= factor * u * y (4 + |x - m| + D), m the row's maximum, D the mean of |x - m| under y.
 *
 * x - m rounds by u |x - m|, and so does its product with log2(e): exp is off by as much, relatively,
 * besides the two units of the exponential itself. The sum inherits the weighted mean of that, D, and adds
 * its own roundings, u sqrt(d) / 3 for d additions in a chain; two more for the division. So the magnitude
 * carries what depends on the data, and the factor what depends on N.
 */
static double softmax_tolerance(const struct rung_case *c)
{
    return 2.0 + sqrt((double)c->dim[1]) / 24.0;
}

static const char *softmax_reference_id(const char *kind)
{
    if (!strcmp(kind, "cuda"))
        return "s1";
    return strcmp(kind, "cpu") ? NULL : "sc1";
}

/* A row with a NaN or a +inf, and a row of nothing but -inf, is NaN throughout. */
void rung_softmax_reference(const struct rung_case *c, const struct rung_set *set, int64_t row0,
                            int64_t rows, struct rung_ref out)
{
    const int64_t n = c->dim[1];
    for (int64_t i = 0; i < rows; i++) {
        const float *x = (const float *)set->operand[0].data + (row0 + i) * c->ld[0];
        double m = -INFINITY, sum = 0.0, mean = 0.0;
        for (int64_t j = 0; j < n; j++)
            m = fmax(m, (double)x[j]);
        for (int64_t j = 0; j < n; j++) {
            const double d = (double)x[j] - m, e = exp(d);
            sum += e;
            mean += e > 0.0 ? e * fabs(d) : 0.0;
        }
        for (int64_t j = 0; j < n; j++) {
            const double d = (double)x[j] - m, y = exp(d) / sum;
            out.value[i * n + j] = y;
            out.magnitude[i * n + j] =
                (float)((y > 0.0 ? y * (4.0 + fabs(d) + mean / sum) : 0.0) + RUNG_ROWS_TINY);
        }
    }
}

/* Rows in turn: -inf in the first half; -inf in all but one; nothing but -inf; one NaN; one +inf;
 * 1e30 everywhere; usual + 100; usual times 80; usual. */
static float softmax_special(const struct rung_case *c, uint32_t operand, int64_t row, int64_t col,
                             float usual)
{
    const int64_t n = c->dim[1];
    (void)operand;
    switch (row % 9) {
    case 0: return col < n / 2 ? -INFINITY : usual;
    case 1: return col == n / 3 ? usual : -INFINITY;
    case 2: return -INFINITY;
    case 3: return col == n / 2 ? NAN : usual;
    case 4: return col == n - 1 ? INFINITY : usual;
    case 5: return 1e30f;
    case 6: return usual + 100.0f;
    case 7: return usual * 80.0f;
    default: return usual;
    }
}

const struct rung_family rung_family_softmax = {
    .name = "softmax",
    .summary = "y = exp(x - max) / sum, a row at a time, f32",
    .shape_help = "ROWSxCOLS",
    .n_dims = 2,
    .dim_name = {"rows", "cols"},
    .scalars = "",
    .edges = rung_row_edges,
    .n_edges = RUNG_N_ROW_EDGES,
    .default_shapes = "8192x2048",
    .default_shapes_cpu = "64x2048",
    .output = 1,
    .memory_bound = true,
    .shape = rung_rows_shape,
    .set_ld = softmax_set_ld,
    .operands = softmax_operands,
    .reads = softmax_reads,
    .tolerance = softmax_tolerance,
    .int_range = rung_rows_int_range,
    .special = softmax_special,
    .reference_id = softmax_reference_id,
};
