/*
 * The state of the GPU while it is measured: a thread samples the driver's management library
 * and keeps each sample with its time. Without the library everything is unknown, and nothing
 * fails.
 */
#ifndef RUNG_CLOCKS_H
#define RUNG_CLOCKS_H

#include "status.h"

struct rung_clocks;

/* What the samples of a stretch of time say. */
struct rung_clock_window {
    unsigned samples;         /* 0: nothing is known */
    double sm_mhz_min, sm_mhz_max;
    double power_w_mean, temperature_c_max;
    bool slowdown;            /* heat or hardware held the clock back */
    bool power_cap;           /* the power limit did: steady and valid */
};

/* uuid: "GPU-..."; never fails, at worst it knows nothing. `why` says why. */
struct rung_clocks *rung_clocks_start(const char *uuid, char *why, size_t cap);
void rung_clocks_stop(struct rung_clocks *c);

/* Seconds on the clock that windows are asked in. */
double rung_now(void);
void rung_clocks_window(struct rung_clocks *c, double from, double to,
                        struct rung_clock_window *out);

#endif
