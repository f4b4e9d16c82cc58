/* One element held against its reference; shared by the host and core/cuda/. */
#ifndef RUNG_COMPARE_H
#define RUNG_COMPARE_H

#include "kit.h"

#include <math.h>

#define RUNG_UNIT_ROUNDOFF 5.9604644775390625e-8 /* 2^-24, f32 round to nearest */

/* Largest error allowed on an element of magnitude `mag`. */
static inline RUNG_HD double rung_allowed(struct rung_tolerance tol, float mag)
{
    return tol.exact ? 0.0 : tol.factor * RUNG_UNIT_ROUNDOFF * (double)mag;
}

/* NaN is wrong unless the reference is NaN, an infinity must match. The negated <= is
 * what makes a NaN fail: NaN > bound is false, and has fooled harnesses. */
static inline RUNG_HD bool rung_element_ok(float got, double want, float mag,
                                           struct rung_tolerance tol)
{
    if (isnan(want))
        return isnan(got);
    if (isinf((float)want))
        return got == (float)want;
    if (tol.exact)
        return got == (float)want;
    return fabs((double)got - want) <= rung_allowed(tol, mag);
}

/* Error in units of 2^-24 * magnitude: the factor this element alone would need. */
static inline RUNG_HD double rung_element_error(float got, double want, float mag)
{
    const double e = fabs((double)got - want);
    if (!(e > 0.0) || !(mag > 0.0f) || isinf(e))
        return 0.0;
    return e / (RUNG_UNIT_ROUNDOFF * (double)mag);
}

#endif
