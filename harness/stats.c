#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sorted(const double *v, size_t n)
{
    double *s = malloc((n ? n : 1) * sizeof *s);
    if (s && n) {
        memcpy(s, v, n * sizeof *s);
        qsort(s, n, sizeof *s, ascending);
    }
    return s;
}

double rung_median(const double *v, size_t n)
{
    double *s = n ? sorted(v, n) : NULL, m = NAN;
    if (s)
        m = n % 2 ? s[n / 2] : 0.5 * (s[n / 2 - 1] + s[n / 2]);
    free(s);
    return m;
}

double rung_minimum(const double *v, size_t n)
{
    double m = n ? v[0] : NAN;
    for (size_t i = 1; i < n; i++)
        m = v[i] < m ? v[i] : m;
    return m;
}

/* Largest k with P(Binomial(n, 1/2) <= k - 1) <= 0.025: the interval is [s[k-1], s[n-k]]. */
static size_t rank_of(size_t n)
{
    double log_p = -(double)n * log(2.0), cumulative = exp(log_p);
    size_t k = 0;
    while (cumulative <= 0.025 && k < n / 2) {
        k++;
        log_p += log((double)(n - k + 1)) - log((double)k);
        cumulative += exp(log_p);
    }
    return k;
}

void rung_median_interval(const double *v, size_t n, double *lo, double *hi)
{
    double *s = n ? sorted(v, n) : NULL;
    *lo = *hi = NAN;
    if (!s)
        return;
    const size_t k = rank_of(n);
    *lo = s[k ? k - 1 : 0];
    *hi = s[k ? n - k : n - 1];
    free(s);
}

double rung_half_width(const double *v, size_t n)
{
    double lo, hi;
    if (n < 6)
        return NAN;
    rung_median_interval(v, n, &lo, &hi);
    return 0.5 * (hi - lo) / fabs(rung_median(v, n));
}
