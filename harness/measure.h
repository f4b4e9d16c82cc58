/*
 * Interleaved timing of several things on one case.
 *
 * A round times the reference, every other series, and the reference again; the order is
 * shuffled by the seed and reversed in every other round. A ratio is formed inside the round, against the
 * reference interpolated between its two slices at the moment of the slice, so that drift
 * cancels to first order. A slice is as many launches as its shortest length asks for, between two
 * marks in the stream; nothing is synchronised or subtracted inside it.
 */
#ifndef RUNG_MEASURE_H
#define RUNG_MEASURE_H

#include "clocks.h"
#include "device.h"

/* What is timed: enqueues one launch on operand set `set`. */
struct rung_task {
    enum rung_status (*launch)(void *ctx, uint32_t set, struct rung_err *err);
    void *ctx;
    uint32_t n_sets; /* sets are rotated, so that each launch finds them out of the cache */
};

struct rung_slice {
    double ms;  /* of one launch */
    double mhz; /* observed clock of an SM; 0 = unknown */
};

/* What was measured of one task, one value a valid round. Ratios are reference over this. */
struct rung_series {
    struct rung_task task;
    int launches;       /* in a slice */
    bool slow;          /* so much slower than the reference that few rounds do */
    size_t n, cap;
    double *ms;         /* a launch */
    double *ratio;      /* of times */
    double *cycles;     /* ratio of cycles: time times observed clock; NAN where unknown */
    double *mhz;
    int discarded;      /* rounds that a clock made void */
    uint32_t next_set;
    struct rung_graph *graph;
    int in_graph;       /* launches in it */
};

struct rung_measure_options {
    int min_rounds;     /* at least; then looked at when their number has doubled */
    int max_rounds;     /* 0: no limit but the budget */
    double target;      /* relative half-width of the interval that ends the measurement */
    double budget_s;    /* wall time of the rounds that ends it too */
    double slice_ms;
    uint64_t seed;
    bool graph;         /* replay launches as a graph */
    bool quiet;
    struct rung_clocks *clocks; /* may be NULL */
    /* Called before every slice; may be NULL. */
    void (*on_start)(void *ctx, size_t series);
    /* Called for every slice, valid or not; may be NULL. position: place in the round. */
    void (*on_slice)(void *ctx, int round, int position, size_t series,
                     const struct rung_slice *slice, bool valid);
    void *ctx;
};

enum rung_ended { RUNG_ENDED_TARGET, RUNG_ENDED_BUDGET, RUNG_ENDED_ROUNDS };

struct rung_measured {
    enum rung_ended ended;
    int rounds;           /* valid ones */
    double warm_s, wall_s, slices_s;
    struct rung_clock_window clocks;
    size_t last;          /* the series that ran last; the one that failed, if one did */
};

/* series[0] is the reference when has_reference. Fills the series; finish them. A launch that
 * fails ends the measurement. */
enum rung_status rung_measure(struct rung_series *series, size_t n, bool has_reference,
                              struct rung_device *dev, const struct rung_measure_options *o,
                              struct rung_measured *out, struct rung_err *err);
void rung_series_finish(struct rung_series *s, struct rung_device *dev);

/* One slice of `launches`: milliseconds a launch. */
enum rung_status rung_time_launches(const struct rung_task *task, struct rung_device *dev,
                                    struct rung_timer *timer, int launches, double *ms,
                                    struct rung_err *err);

/* "target", "budget", "rounds" */
const char *rung_ended_name(enum rung_ended e);

#endif
