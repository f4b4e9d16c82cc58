/* Medians, and the coverage that the interval promises. */
#include "../../core/fill.h"
#include "../../harness/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void medians(void **state)
{
    const double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    (void)state;
    assert_float_equal(rung_median(odd, 3), 2.0, 0);
    assert_float_equal(rung_median(even, 4), 2.5, 0);
    assert_true(isnan(rung_median(odd, 0)));
    assert_float_equal(rung_minimum(even, 4), 1.0, 0);
}

static void known_ranks(void **state)
{
    double v[21], lo, hi;
    (void)state;
    for (int i = 0; i < 21; i++)
        v[i] = i + 1;
    /* n = 21: P(X <= 5) = 0.0133, P(X <= 6) = 0.0392, so the 6th and the 16th value. */
    rung_median_interval(v, 21, &lo, &hi);
    assert_float_equal(lo, 6.0, 0);
    assert_float_equal(hi, 16.0, 0);
    rung_median_interval(v, 4, &lo, &hi);
    assert_float_equal(lo, 1.0, 0);
    assert_float_equal(hi, 4.0, 0);
}

static void covers_the_median(void **state)
{
    uint64_t x = 1;
    int hit = 0;
    (void)state;
    for (int t = 0; t < 2000; t++) {
        double v[31], lo, hi;
        for (int i = 0; i < 31; i++) {
            x = rung_mix64(x);
            const double u = ((double)(x >> 11) + 0.5) / 9007199254740992.0;
            v[i] = -log(u); /* skewed; median ln 2 */
        }
        rung_median_interval(v, 31, &lo, &hi);
        hit += lo <= log(2.0) && log(2.0) <= hi;
    }
    assert_in_range(hit, 1900, 1990); /* at least 95%, and not by being useless */
}

static double uniform(uint64_t *x)
{
    *x = rung_mix64(*x);
    return ((double)(*x >> 11) + 0.5) / 9007199254740992.0;
}

/* A round of an A/A run as a GPU gives it: noise, one slice in twenty late by up to 3%, what drift
 * leaves after interpolation, and times that come in steps of a clock. */
static double simulated_ratio(uint64_t *x, int round)
{
    double slice[2];
    for (int i = 0; i < 2; i++) {
        const double noise = uniform(x) + uniform(x) + uniform(x) - 1.5;
        const double late = uniform(x) < 0.05 ? 0.03 * uniform(x) : 0.0;
        slice[i] = 5.0 * (1.0 + 0.002 * noise + late + 1e-5 * sin(round * 0.3));
        slice[i] = floor(slice[i] / 0.001 + 0.5) * 0.001;
    }
    return slice[0] / slice[1];
}

/* The very rule of harness/measure.c: 20 rounds, then looked at only at doublings, until narrow. */
static void covers_under_the_stopping_rule(void **state)
{
    uint64_t x = 7;
    int hit = 0, claims = 0;
    (void)state;
    for (int t = 0; t < 2000; t++) {
        double v[640], lo, hi;
        int n = 0;
        for (int look = 20; n < 640; look *= 2) {
            for (; n < look; n++)
                v[n] = simulated_ratio(&x, n);
            if (rung_half_width(v, (size_t)n) <= 0.001)
                break;
        }
        rung_median_interval(v, (size_t)n, &lo, &hi);
        hit += lo <= 1.0 && 1.0 <= hi;
        claims += lo > 1.002 || hi < 0.998;
    }
    assert_in_range(hit, 1860, 2000); /* 93%: looking several times costs a little */
    assert_int_equal(claims, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(known_ranks),
        cmocka_unit_test(covers_the_median),
        cmocka_unit_test(covers_under_the_stopping_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
