/* The row families: references against values known by hand, a bound that accepts what the
 * hardware's fast exponential gives and nothing worse, special values in every place. */
#include "runner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum trick {
    HONEST,
    FAST_EXP,      /* ex2.approx at its worst: every rounding of exp2(t * log2 e) and 2^-22 */
    DROP_FROM_SUM, /* the smallest element of the row is left out of the sum */
    SCALE_1E5,
    ALL_ZERO,
    ONE_NAN,
    NAN_IS_LOST,      /* a row with NaN comes out as numbers */
    MASKED_IS_NAN,    /* what a running maximum that starts at -inf gives: NaN in a masked share */
    MASKED_IS_ZERO,   /* a row of -inf comes out as zeros */
    NO_MAX,           /* exp(x) without subtracting: overflows */
    EPS_OUTSIDE,      /* 1 / (sqrt(mean) + eps) */
    EPS_BEFORE_MEAN,  /* (sum + eps) / N */
    NO_EPS,
    IN_DOUBLE,        /* rows of 1e20 as if squares did not overflow */
    WRONG_LAST_ROW,
    IN_PADDING,
    SKIP_LAST,
};

static enum trick trick;

static float fast_exp(float t)
{
    if (trick != FAST_EXP)
        return expf(t);
    return (float)(exp2((double)(t * 1.44269504f)) * (1.0 + 0x1p-22));
}

static void softmax_row(const float *x, float *y, int64_t n)
{
    float max = -INFINITY, least = INFINITY;
    double sum = 0.0;
    bool masked_share = true;
    for (int64_t j = 0; j < n; j++) {
        max = fmaxf(max, x[j]);
        least = fminf(least, x[j]);
        masked_share = masked_share && (j >= n / 2 || x[j] == -INFINITY);
    }
    if (trick == NO_MAX)
        max = 0.0f;
    if (trick == MASKED_IS_ZERO && max == -INFINITY)
        max = 0.0f;
    for (int64_t j = 0; j < n; j++)
        sum += (double)fast_exp(x[j] - max);
    if (trick == DROP_FROM_SUM)
        sum -= (double)fast_exp(least - max);
    if (trick == NAN_IS_LOST && isnan(sum))
        sum = 1.0;
    if (trick == MASKED_IS_NAN && masked_share)
        sum = NAN;
    if (trick == MASKED_IS_ZERO && sum == 0.0)
        sum = 1.0;
    for (int64_t j = 0; j < n; j++) {
        y[j] = fast_exp(x[j] - max) * (float)(1.0 / sum);
        if (trick == NAN_IS_LOST && isnan(y[j]))
            y[j] = 0.0f;
    }
}

static void rmsnorm_row(const float *x, const float *w, float *y, int64_t n, float eps)
{
    double sum = 0.0;
    for (int64_t j = 0; j < n; j++) {
        const double square = trick == IN_DOUBLE ? (double)x[j] * (double)x[j]
                                                 : (double)(x[j] * x[j]);
        sum += square;
    }
    if (trick == DROP_FROM_SUM)
        sum -= sum / (double)n; /* an element of average size */
    float mean = (float)(sum / (double)n);
    float factor = 1.0f / sqrtf(mean + eps);
    if (trick == EPS_OUTSIDE)
        factor = 1.0f / (sqrtf(mean) + eps);
    else if (trick == EPS_BEFORE_MEAN)
        factor = 1.0f / sqrtf((float)((sum + (double)eps) / (double)n));
    else if (trick == NO_EPS)
        factor = 1.0f / sqrtf(mean);
    else if (trick == IN_DOUBLE)
        factor = (float)(1.0 / sqrt(sum / (double)n + (double)eps));
    if (trick == NAN_IS_LOST && isnan(factor))
        factor = 0.0f;
    for (int64_t j = 0; j < n; j++) {
        y[j] = x[j] * factor * w[j];
        if (trick == NAN_IS_LOST && isnan(y[j]))
            y[j] = 0.0f;
    }
}

static enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const struct rung_case *c = state;
    const bool rms = !strcmp(c->family, "rmsnorm");
    const struct rung_operand *out = &set->operand[set->n_operands - 1];
    const int64_t m = c->dim[0], n = c->dim[1];
    (void)stream;

    for (int64_t i = 0; i < m && n; i++) {
        const float *x = (const float *)set->operand[0].data + i * c->ld[0];
        float *y = (float *)out->data + i * out->stride[0];
        float last = y[n - 1];
        if (rms)
            rmsnorm_row(x, set->operand[1].data, y, n, c->eps);
        else
            softmax_row(x, y, n);
        for (int64_t j = 0; j < n; j++)
            y[j] = trick == ALL_ZERO ? 0.0f : trick == SCALE_1E5 ? y[j] * 1.00001f : y[j];
        if (trick == ONE_NAN && i == m - 1)
            y[n / 2] = NAN;
        if (trick == WRONG_LAST_ROW && i == m - 1)
            y[n - 1] *= 1.0001f;
        if (trick == IN_PADDING && i == 0)
            y[n] = 1.0f;
        if (trick == SKIP_LAST && i == m - 1)
            memcpy(&y[n - 1], &last, sizeof last);
    }
    return RUNG_OK;
}

static void cost(const struct rung_case *c, struct rung_cost *out)
{
    out->bytes = 8.0 * (double)c->dim[0];
}

static struct rung_verdict verify(const struct rung_case *c, enum trick t)
{
    const struct rung_plugin plugin = {
        RUNG_PLUGIN_HEAD, .id = "t", .family = c->family, .title = "t", .summary = "t",
        .notes = "", .target = "cpu", .build = RUNG_BUILD_FACTS, .launch = launch, .cost = cost,
    };
    struct rung_device *dev;
    struct rung_bed *bed;
    struct rung_session *s;
    struct rung_err err = {RUNG_OK, ""};
    struct rung_verdict v;

    trick = t;
    assert_int_equal(rung_device_cpu.open(NULL, &dev, &err), RUNG_OK);
    assert_int_equal(rung_bed_create(dev, c, 1, &bed, &err), RUNG_OK);
    assert_int_equal(rung_session_open(bed, &plugin, &s, &err), RUNG_OK);
    assert_int_equal(rung_session_verify_all(s, 7, 0, &v, &err), RUNG_OK);
    rung_session_close(s);
    rung_bed_destroy(bed);
    rung_device_close(dev);
    return v;
}

static struct rung_case rows(const struct rung_family *f, int64_t m, int64_t n, int64_t pad)
{
    const int64_t dims[2] = {m, n};
    struct rung_case c;
    struct rung_err err;
    assert_int_equal(rung_case_init(f, dims, 2, &c, &err), RUNG_OK);
    f->set_ld(&c, pad);
    return c;
}

static void expect(const struct rung_case *c, enum trick t, enum rung_fault fault)
{
    const struct rung_verdict v = verify(c, t);
    if (v.fault != fault)
        fail_msg("%s trick %d: %s (%s), expected %s", c->family, t, rung_fault_name(v.fault),
                 v.what, rung_fault_name(fault));
}

static const struct rung_family *const families[] = {&rung_family_rmsnorm, &rung_family_softmax};

static void honest_passes_every_edge(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < families[k]->n_edges; i++) {
            struct rung_case c;
            rung_case_from_edge(families[k], &families[k]->edges[i], &c);
            const struct rung_verdict v = verify(&c, HONEST);
            if (v.fault)
                fail_msg("%s edge %zu: %s", families[k]->name, i, v.what);
            assert_true(v.checked >= (uint64_t)(2 * c.dim[0] * c.dim[1]));
        }
}

/* The bound has room for the hardware's exponential at its worst, at any length. */
static void fast_exponential_passes(void **state)
{
    const int64_t n[] = {33, 2048, 152064};
    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct rung_case c = rows(&rung_family_softmax, 12, n[i], 0);
        const struct rung_verdict v = verify(&c, FAST_EXP);
        assert_int_equal(v.fault, RUNG_FAULT_NONE);
        assert_true(v.worst < 0.75 * v.factor);
    }
}

static void small_faults_are_caught(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const int64_t n[] = {33, 3584, 32768};
        for (int i = 0; i < 3; i++) {
            const struct rung_case c = rows(families[k], 16, n[i], 0);
            expect(&c, DROP_FROM_SUM, RUNG_FAULT_WRONG_VALUE);
            expect(&c, SCALE_1E5, RUNG_FAULT_WRONG_VALUE);
            expect(&c, ALL_ZERO, RUNG_FAULT_WRONG_VALUE);
            expect(&c, WRONG_LAST_ROW, RUNG_FAULT_WRONG_VALUE);
            expect(&c, ONE_NAN, RUNG_FAULT_NAN);
            expect(&c, SKIP_LAST, RUNG_FAULT_UNWRITTEN);
        }
        const struct rung_case padded = rows(families[k], 16, 100, 4);
        expect(&padded, HONEST, RUNG_FAULT_NONE);
        expect(&padded, IN_PADDING, RUNG_FAULT_PADDING);
    }
}

static void special_values_are_caught(void **state)
{
    const struct rung_case soft = rows(&rung_family_softmax, 16, 100, 0);
    const struct rung_case rms = rows(&rung_family_rmsnorm, 16, 100, 0);
    (void)state;
    expect(&soft, NAN_IS_LOST, RUNG_FAULT_WRONG_VALUE);
    expect(&soft, MASKED_IS_NAN, RUNG_FAULT_NAN);
    expect(&soft, MASKED_IS_ZERO, RUNG_FAULT_WRONG_VALUE);
    expect(&soft, NO_MAX, RUNG_FAULT_NAN);
    expect(&rms, NAN_IS_LOST, RUNG_FAULT_WRONG_VALUE);
    expect(&rms, NO_EPS, RUNG_FAULT_WRONG_VALUE);
    expect(&rms, IN_DOUBLE, RUNG_FAULT_WRONG_VALUE);
}

static void eps_has_its_place(void **state)
{
    struct rung_case c = rows(&rung_family_rmsnorm, 16, 100, 0);
    (void)state;
    c.eps = 0.25f;
    expect(&c, HONEST, RUNG_FAULT_NONE);
    expect(&c, EPS_OUTSIDE, RUNG_FAULT_WRONG_VALUE);
    expect(&c, EPS_BEFORE_MEAN, RUNG_FAULT_WRONG_VALUE);
    c.eps = 0.0f;
    expect(&c, HONEST, RUNG_FAULT_NONE);
    expect(&c, EPS_BEFORE_MEAN, RUNG_FAULT_NONE); /* nothing to tell them apart by */
}

/* ---- references against values known by hand --------------------------------------- */

static void reference(const struct rung_case *c, const float *x, const float *w, double *value)
{
    float magnitude[64];
    struct rung_err err;
    const struct rung_set set = {
        .n_operands = w ? 3 : 2,
        .operand = {{.data = (void *)(uintptr_t)x}, {.data = (void *)(uintptr_t)w}}};
    assert_int_equal(rung_kit_host.reference(NULL, c, &set, NULL, 0, c->dim[0],
                                             (struct rung_ref){value, magnitude}, &err), RUNG_OK);
    for (int64_t i = 0; i < c->dim[0] * c->dim[1]; i++)
        assert_true(isnan(value[i]) || magnitude[i] >= 0.0f);
}

static void softmax_by_hand(void **state)
{
    const float inf = INFINITY;
    const float x[6][3] = {{0, logf(2), logf(5)}, {1e30f, 1e30f, 1e30f}, {-inf, 3, -inf},
                           {-inf, -inf, -inf},    {1, NAN, 2},           {0, inf, 1}};
    const double want[3][3] = {{0.125, 0.25, 0.625}, {1 / 3.0, 1 / 3.0, 1 / 3.0}, {0, 1, 0}};
    const struct rung_case c = rows(&rung_family_softmax, 6, 3, 0);
    double got[18];
    (void)state;
    reference(&c, x[0], NULL, got);
    for (int i = 0; i < 9; i++)
        assert_true(fabs(got[i] - want[i / 3][i % 3]) < 1e-7);
    for (int i = 9; i < 18; i++)
        assert_true(isnan(got[i]));
}

static void rmsnorm_by_hand(void **state)
{
    const float x[4][2] = {{3, 4}, {0, 0}, {1e20f, 1}, {NAN, 1}}, w[2] = {1, -2};
    struct rung_case c = rows(&rung_family_rmsnorm, 4, 2, 0);
    double got[8];
    (void)state;
    c.eps = 0.5f; /* mean 12.5, with eps 13 */
    reference(&c, x[0], w, got);
    assert_true(fabs(got[0] - 3 / sqrt(13)) < 1e-12);
    assert_true(fabs(got[1] + 8 / sqrt(13)) < 1e-12);
    for (int i = 2; i < 6; i++)
        assert_true(got[i] == 0.0);
    assert_true(isnan(got[6]) && isnan(got[7]));
    c.eps = 0.0f;
    reference(&c, x[0], w, got);
    assert_true(isnan(got[2]) && isnan(got[3]));
}

static void shapes_and_labels(void **state)
{
    const int64_t v[3] = {8, 16, 2};
    struct rung_case c;
    struct rung_err err;
    char label[160];
    (void)state;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(rung_case_init(families[k], v, 1, &c, &err), RUNG_E_USAGE);
        assert_int_equal(rung_case_init(families[k], v, 3, &c, &err), RUNG_E_USAGE);
        assert_int_equal(rung_case_init(families[k], v, 2, &c, &err), RUNG_OK);
        families[k]->set_ld(&c, 3);
        rung_case_label(&c, label, sizeof label);
        assert_string_equal(label, "8x16 ld+3");
        c.ld[0]++;
        c.eps = k ? c.eps : 0.0f;
        rung_case_label(&c, label, sizeof label);
        assert_string_equal(label, k ? "8x16 ld 20,19" : "8x16 ld 20,19 eps 0");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_passes_every_edge),
        cmocka_unit_test(fast_exponential_passes),
        cmocka_unit_test(small_faults_are_caught),
        cmocka_unit_test(special_values_are_caught),
        cmocka_unit_test(eps_has_its_place),
        cmocka_unit_test(softmax_by_hand),
        cmocka_unit_test(rmsnorm_by_hand),
        cmocka_unit_test(shapes_and_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
