/*
 * Interleaved timing of several kernels on one case.
 *
 * A round times the reference, then every other kernel in shuffled order, then the
 * reference again; a ratio is formed inside the round against the mean of its two
 * reference slices, so that drift cancels to first order. A slice is as many launches
 * as its shortest length asks for.
 */
#ifndef RUNG_MEASURE_H
#define RUNG_MEASURE_H

#include "runner.h"

/* What was measured of one kernel. Ratios are reference time over kernel time. */
struct rung_series {
    struct rung_session *session;
    bool measured;
    int launches;   /* in a slice */
    size_t n;       /* rounds */
    double *ms;     /* a launch, one value a round */
    double *ratio;  /* one a round; of the reference itself: its first slice over its second */
};

struct rung_measure_options {
    int rounds;
    double slice_ms;
    uint64_t seed;
    bool quiet;
};

/* series[0] is the reference when has_reference. Allocates ms and ratio; free them with
 * rung_series_finish. Needs a loaded bed. A failing launch ends the measurement. */
enum rung_status rung_measure(struct rung_series *series, size_t n, bool has_reference,
                              struct rung_bed *bed, const struct rung_measure_options *o,
                              struct rung_err *err);
void rung_series_finish(struct rung_series *s);

/* One slice of `launches`: milliseconds a launch. */
enum rung_status rung_slice(struct rung_session *s, struct rung_device *dev,
                            struct rung_timer *timer, int launches, double *ms,
                            struct rung_err *err);

#endif
