/* A wrong kernel must be named, each in its own way; the right one must not be accused. */
#include "runner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- one CPU kernel, and the ways it can be broken --------------------------------- */

enum trick {
    HONEST,
    DROP_LAST_K,
    WRONG_FIRST,
    WRONG_MIDDLE,
    WRONG_LAST,
    TF32,
    ONE_NAN,
    SKIP_ONE,
    SKIP_ALL,
    PAST_END,
    BEFORE_START,
    IN_PADDING,
    CHANGE_INPUT,
    READ_PAST_ROW,
    READ_C,
    ALL_ZERO,
    WORKSPACE_OVERRUN,
};

static enum trick trick;

/* Ten mantissa bits, as the tensor cores read an f32 operand in TF32 mode. */
static float tf32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    u = (u + 0x1000) & 0xffffe000u;
    memcpy(&x, &u, sizeof x);
    return x;
}

static enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const struct rung_case *c = state;
    const int64_t m = c->dim[0], n = c->dim[1], k = c->alpha == 0 ? 0 : c->dim[2];
    float *a = set->operand[0].data, *cc = set->operand[2].data;
    const float *b = set->operand[1].data;
    (void)stream;

    if (trick == SKIP_ALL)
        return RUNG_OK;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < k - (trick == DROP_LAST_K); p++) {
                float x = a[i * c->ld[0] + p], y = b[p * c->ld[1] + j];
                sum = trick == TF32 ? fmaf(tf32(x), tf32(y), sum) : fmaf(x, y, sum);
            }
            if (trick == READ_PAST_ROW)
                sum += 0.0f * a[i * c->ld[0] + c->dim[2]];
            const bool read_c = c->beta != 0 || trick == READ_C;
            float out = c->alpha * sum + (read_c ? c->beta * cc[i * c->ld[2] + j] : 0.0f);
            const int64_t at = i * n + j, last = m * n - 1;
            if ((trick == WRONG_FIRST && at == 0) || (trick == WRONG_MIDDLE && at == last / 2) ||
                (trick == WRONG_LAST && at == last))
                out += 1.0f;
            if (trick == ONE_NAN && at == last / 3)
                out = NAN;
            if (trick == ALL_ZERO)
                out = 0;
            if (!(trick == SKIP_ONE && at == last))
                cc[i * c->ld[2] + j] = out;
        }
    if (trick == PAST_END)
        cc[(m - 1) * c->ld[2] + n] = 1;
    if (trick == BEFORE_START)
        cc[-1] = 1;
    if (trick == IN_PADDING)
        cc[n] = 1;
    if (trick == CHANGE_INPUT)
        a[0] += 1;
    if (trick == WORKSPACE_OVERRUN)
        ((char *)set->workspace)[set->workspace_bytes] = 1;
    return RUNG_OK;
}

static size_t workspace_bytes(const struct rung_case *c)
{
    (void)c;
    return 64;
}

static void cost(const struct rung_case *c, struct rung_cost *out)
{
    out->flops = 2.0 * (double)c->dim[0];
}

static const struct rung_plugin plugin = {
    RUNG_PLUGIN_HEAD, .id = "t", .family = "sgemm", .title = "t", .summary = "t", .notes = "",
    .target = "cpu", .build = RUNG_BUILD_FACTS, .workspace_bytes = workspace_bytes,
    .launch = launch, .cost = cost,
};

/* ---- how it is tried ------------------------------------------------------------- */

static struct rung_verdict verify(struct rung_case *c, enum trick t)
{
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

static struct rung_case sgemm(int64_t m, int64_t n, int64_t k, int64_t pad)
{
    int64_t dims[3] = {m, n, k};
    struct rung_case c;
    struct rung_err err;
    assert_int_equal(rung_case_init(&rung_family_sgemm, dims, 3, &c, &err), RUNG_OK);
    rung_family_sgemm.set_ld(&c, pad);
    return c;
}

static void expect(enum trick t, enum rung_fault fault, int64_t pad)
{
    struct rung_case c = sgemm(65, 47, 301, pad);
    struct rung_verdict v = verify(&c, t);
    if (v.fault != fault)
        fail_msg("trick %d: %s (%s), expected %s", t, rung_fault_name(v.fault), v.what,
                 rung_fault_name(fault));
    assert_true((fault == RUNG_FAULT_NONE) == (v.what[0] == '\0'));
}

static void honest_passes(void **state)
{
    (void)state;
    expect(HONEST, RUNG_FAULT_NONE, 0);
    expect(HONEST, RUNG_FAULT_NONE, 5);
}

static void honest_passes_every_edge(void **state)
{
    (void)state;
    for (size_t i = 0; i < rung_family_sgemm.n_edges; i++) {
        struct rung_case c;
        rung_case_from_edge(&rung_family_sgemm, &rung_family_sgemm.edges[i], &c);
        struct rung_verdict v = verify(&c, HONEST);
        if (v.fault)
            fail_msg("edge %zu: %s", i, v.what);
        assert_int_equal(v.checked, 2 * c.dim[0] * c.dim[1]);
        assert_true(v.worst <= v.factor);
    }
}

static void dropped_term(void **state)
{
    (void)state;
    expect(DROP_LAST_K, RUNG_FAULT_WRONG_VALUE, 0);
}

static void one_wrong_element(void **state)
{
    (void)state;
    expect(WRONG_FIRST, RUNG_FAULT_WRONG_VALUE, 0);
    expect(WRONG_MIDDLE, RUNG_FAULT_WRONG_VALUE, 0);
    expect(WRONG_LAST, RUNG_FAULT_WRONG_VALUE, 3);
}

static void tf32_is_caught(void **state)
{
    (void)state;
    expect(TF32, RUNG_FAULT_WRONG_VALUE, 0);
    struct rung_case deep = sgemm(16, 16, 20000, 0);
    assert_int_equal(verify(&deep, TF32).fault, RUNG_FAULT_WRONG_VALUE);
    assert_int_equal(verify(&deep, HONEST).fault, RUNG_FAULT_NONE);
    /* Whole numbers up to 8 are exact in TF32: it is the floats that must catch it. */
}

static void nan_is_caught(void **state)
{
    (void)state;
    expect(ONE_NAN, RUNG_FAULT_NAN, 0);
}

static void unwritten_is_caught(void **state)
{
    (void)state;
    expect(SKIP_ONE, RUNG_FAULT_UNWRITTEN, 0);
    expect(SKIP_ALL, RUNG_FAULT_UNWRITTEN, 0);
    expect(ALL_ZERO, RUNG_FAULT_WRONG_VALUE, 0);
}

static void out_of_bounds_is_caught(void **state)
{
    (void)state;
    expect(PAST_END, RUNG_FAULT_OUT_OF_BOUNDS, 0);
    expect(BEFORE_START, RUNG_FAULT_OUT_OF_BOUNDS, 0);
    expect(WORKSPACE_OVERRUN, RUNG_FAULT_OUT_OF_BOUNDS, 0);
    expect(IN_PADDING, RUNG_FAULT_PADDING, 4);
    expect(READ_PAST_ROW, RUNG_FAULT_NAN, 4);
}

static void changed_input_is_caught(void **state)
{
    (void)state;
    expect(CHANGE_INPUT, RUNG_FAULT_INPUT_CHANGED, 0);
}

/* beta == 0 must not read C: NaN times 0 is NaN. */
static void reading_c_is_caught(void **state)
{
    (void)state;
    expect(READ_C, RUNG_FAULT_NAN, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_passes),
        cmocka_unit_test(honest_passes_every_edge),
        cmocka_unit_test(dropped_term),
        cmocka_unit_test(one_wrong_element),
        cmocka_unit_test(tf32_is_caught),
        cmocka_unit_test(nan_is_caught),
        cmocka_unit_test(unwritten_is_caught),
        cmocka_unit_test(out_of_bounds_is_caught),
        cmocka_unit_test(changed_input_is_caught),
        cmocka_unit_test(reading_c_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
