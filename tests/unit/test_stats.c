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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(known_ranks),
        cmocka_unit_test(covers_the_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
