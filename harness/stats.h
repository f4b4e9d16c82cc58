/* Order statistics. All functions sort a copy; n of 0 gives NaN. */
#ifndef RUNG_STATS_H
#define RUNG_STATS_H

#include <stddef.h>

double rung_median(const double *v, size_t n);
/* 95% confidence interval of the median from order statistics (binomial), free of any
 * assumption on the distribution. Needs n >= 6; below that the extremes. */
void rung_median_interval(const double *v, size_t n, double *lo, double *hi);
/* Half the width of that interval, relative to the median; NaN below 6 values. */
double rung_half_width(const double *v, size_t n);
double rung_minimum(const double *v, size_t n);

#endif
