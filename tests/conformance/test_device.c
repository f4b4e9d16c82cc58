/* One suite over every device: alloc, copy, fill, kit, timer, error propagation. A device that
 * is absent is skipped with its reason. argv[1] is the device. */
#include "device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rung_device *dev;

static void alloc_and_copy(void **state)
{
    float in[300], back[300] = {0};
    void *p, *q;
    struct rung_err err;
    (void)state;
    for (int i = 0; i < 300; i++)
        in[i] = (float)i;
    assert_int_equal(dev->ops->alloc(dev, sizeof in, &p, &err), RUNG_OK);
    assert_int_equal(dev->ops->alloc(dev, sizeof in, &q, &err), RUNG_OK);
    assert_int_equal((uintptr_t)p % 256, 0);
    assert_int_equal(dev->ops->copy(dev, p, in, sizeof in, RUNG_TO_DEVICE, &err), RUNG_OK);
    assert_int_equal(dev->ops->copy(dev, q, p, sizeof in, RUNG_ON_DEVICE, &err), RUNG_OK);
    assert_int_equal(dev->ops->copy(dev, back, q, sizeof in, RUNG_TO_HOST, &err), RUNG_OK);
    assert_memory_equal(in, back, sizeof in);
    assert_int_equal(dev->ops->copy(dev, back, q, 0, RUNG_TO_HOST, &err), RUNG_OK);
    dev->ops->free(dev, p);
    dev->ops->free(dev, q);
}

static void empty_alloc(void **state)
{
    void *p;
    struct rung_err err;
    (void)state;
    assert_int_equal(dev->ops->alloc(dev, 0, &p, &err), RUNG_OK);
    dev->ops->free(dev, p);
}

static void alloc_too_much(void **state)
{
    void *p;
    struct rung_err err = {RUNG_OK, ""};
    (void)state;
    enum rung_status s = dev->ops->alloc(dev, (size_t)1 << 50, &p, &err);
    assert_int_equal(s, RUNG_E_NOMEM);
    assert_non_null(strstr(err.msg, "1125899906842624"));
    /* The failure must not linger. */
    assert_int_equal(dev->ops->launched(dev, &err), RUNG_OK);
    assert_int_equal(dev->ops->alloc(dev, 64, &p, &err), RUNG_OK);
    dev->ops->free(dev, p);
}

static void fill_words(void **state)
{
    uint32_t back[1000];
    void *p;
    struct rung_err err;
    (void)state;
    assert_int_equal(dev->ops->alloc(dev, sizeof back, &p, &err), RUNG_OK);
    assert_int_equal(dev->ops->fill32(dev, p, 0xdeadbeef, 1000, &err), RUNG_OK);
    assert_int_equal(dev->ops->fill32(dev, p, 0x12345678, 3, &err), RUNG_OK);
    assert_int_equal(dev->ops->copy(dev, back, p, sizeof back, RUNG_TO_HOST, &err), RUNG_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(back[i], i < 3 ? 0x12345678 : 0xdeadbeef);
    dev->ops->free(dev, p);
}

/* Every device computes the same contents and the same checksum. */
static void kit_agrees_with_the_host(void **state)
{
    enum { ROWS = 37, COLS = 53, LD = 60 };
    static float mine[ROWS * LD], theirs[ROWS * LD];
    struct rung_fill fills[] = {{.kind = RUNG_FILL_INTS, .range = 8, .seed = 3},
                                {.kind = RUNG_FILL_UNIFORM, .seed = 4},
                                {.kind = RUNG_FILL_BITS, .bits = RUNG_POISON_BITS}};
    struct rung_view host = {mine, ROWS, COLS, LD};
    struct rung_err err;
    void *p;
    (void)state;
    assert_int_equal(dev->ops->alloc(dev, sizeof mine, &p, &err), RUNG_OK);
    struct rung_view there = {p, ROWS, COLS, LD};
    for (size_t i = 0; i < 3; i++) {
        uint64_t a, b, bad, first;
        memset(mine, 0, sizeof mine);
        assert_int_equal(dev->ops->fill32(dev, p, 0, ROWS * LD, &err), RUNG_OK);
        assert_int_equal(rung_kit_host.fill(NULL, host, fills[i], &err), RUNG_OK);
        assert_int_equal(dev->kit->fill(dev, there, fills[i], &err), RUNG_OK);
        assert_int_equal(dev->ops->copy(dev, theirs, p, sizeof mine, RUNG_TO_HOST, &err), RUNG_OK);
        assert_memory_equal(mine, theirs, sizeof mine);
        assert_int_equal(rung_kit_host.checksum(NULL, host, &a, &err), RUNG_OK);
        assert_int_equal(dev->kit->checksum(dev, there, &b, &err), RUNG_OK);
        assert_true(a == b);
        assert_int_equal(dev->kit->scan(dev, there, RUNG_POISON_BITS, &bad, &first, &err),
                         RUNG_OK);
        assert_int_equal(bad, i == 2 ? 0 : ROWS * COLS);
    }
    dev->ops->free(dev, p);
}

static void scan_finds_the_first(void **state)
{
    struct rung_err err;
    uint64_t bad, first;
    uint32_t wrong = 7;
    void *p;
    (void)state;
    assert_int_equal(dev->ops->alloc(dev, 4000, &p, &err), RUNG_OK);
    assert_int_equal(dev->ops->fill32(dev, p, RUNG_CANARY_BITS, 1000, &err), RUNG_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(dev->ops->copy(dev, (char *)p + 4 * (900 - 88 * i), &wrong, 4,
                                        RUNG_TO_DEVICE, &err), RUNG_OK);
    struct rung_view v = {p, 1, 1000, 1000};
    assert_int_equal(dev->kit->scan(dev, v, RUNG_CANARY_BITS, &bad, &first, &err), RUNG_OK);
    assert_int_equal(bad, 2);
    assert_int_equal(first, 812);
    dev->ops->free(dev, p);
}

/* NaN, infinities, exactness and the bound, judged alike everywhere. */
static void compare_judges(void **state)
{
    const float got[8] = {1, 2, __builtin_nanf(""), __builtin_nanf(""), 1.5f, __builtin_inff(), 4,
                          __builtin_inff()};
    const double want[8] = {1, 2.5, 3, __builtin_nan(""), 1.5, __builtin_inf(), 4, 5};
    const float mag[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct rung_err err;
    struct rung_compare r;
    struct rung_ref ref;
    void *g, *w, *m;
    (void)state;
    assert_int_equal(dev->ops->alloc(dev, sizeof got, &g, &err), RUNG_OK);
    assert_int_equal(dev->ops->alloc(dev, sizeof want, &w, &err), RUNG_OK);
    assert_int_equal(dev->ops->alloc(dev, sizeof mag, &m, &err), RUNG_OK);
    dev->ops->copy(dev, g, got, sizeof got, RUNG_TO_DEVICE, &err);
    dev->ops->copy(dev, w, want, sizeof want, RUNG_TO_DEVICE, &err);
    dev->ops->copy(dev, m, mag, sizeof mag, RUNG_TO_DEVICE, &err);
    ref.value = w;
    ref.magnitude = m;
    struct rung_view v = {g, 2, 4, 4};
    struct rung_tolerance loose = {.factor = 10}, exact = {.exact = true};
    assert_int_equal(dev->kit->compare(dev, v, ref, loose, &r, &err), RUNG_OK);
    assert_int_equal(r.wrong, 3); /* 2 for 2.5, NaN for 3, inf for 5 */
    assert_int_equal(r.nan, 1);
    assert_int_equal(r.first, 1);
    assert_float_equal(r.got, 2, 0);
    assert_float_equal(r.want, 2.5, 0);
    assert_float_equal(r.worst, 0.5 * 16777216.0, 1);
    assert_int_equal(dev->kit->compare(dev, v, ref, exact, &r, &err), RUNG_OK);
    assert_int_equal(r.wrong, 3);
    dev->ops->free(dev, g);
    dev->ops->free(dev, w);
    dev->ops->free(dev, m);
}

static void timer_runs_forward(void **state)
{
    struct rung_timer *t;
    struct rung_err err;
    double ms = -1;
    (void)state;
    if (!dev->ops->has_time)
        skip();
    assert_int_equal(dev->ops->timer_create(dev, &t, &err), RUNG_OK);
    assert_int_equal(dev->ops->timer_start(dev, t, &err), RUNG_OK);
    assert_int_equal(dev->ops->timer_stop(dev, t, &err), RUNG_OK);
    assert_int_equal(dev->ops->timer_ms(dev, t, &ms, &err), RUNG_OK);
    assert_true(ms >= 0.0 && ms < 1000.0);
    dev->ops->timer_destroy(dev, t);
}

static void bad_selectors(void **state)
{
    struct rung_device *other;
    struct rung_err err;
    (void)state;
    assert_int_equal(rung_device_open("gpu", true, &other, NULL, 0, &err), RUNG_E_USAGE);
    assert_int_equal(rung_device_open("cpu:", true, &other, NULL, 0, &err), RUNG_E_USAGE);
    assert_int_equal(rung_device_open("cpu:9", true, &other, NULL, 0, &err), RUNG_E_USAGE);
    if (!strcmp(dev->ops->kind, "cuda")) {
        assert_int_equal(rung_device_open("cuda:99", true, &other, NULL, 0, &err), RUNG_E_USAGE);
        assert_int_equal(rung_device_open("cuda:GPU-no", true, &other, NULL, 0, &err),
                         RUNG_E_USAGE);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alloc_and_copy),     cmocka_unit_test(empty_alloc),
        cmocka_unit_test(alloc_too_much),     cmocka_unit_test(fill_words),
        cmocka_unit_test(kit_agrees_with_the_host), cmocka_unit_test(scan_finds_the_first),
        cmocka_unit_test(compare_judges),     cmocka_unit_test(timer_runs_forward),
        cmocka_unit_test(bad_selectors),
    };
    struct rung_err err;
    if (rung_device_open(argc > 1 ? argv[1] : "cpu", true, &dev, NULL, 0, &err)) {
        fprintf(stderr, "skipped: %s\n", err.msg);
        return 77; /* Meson's code for a skipped test */
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rung_device_close(dev);
    return failed;
}
