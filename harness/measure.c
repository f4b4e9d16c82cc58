#include "measure.h"

#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LAUNCHES 4096
#define WARM_MS 300.0

enum rung_status rung_slice(struct rung_session *s, struct rung_device *dev,
                            struct rung_timer *timer, int launches, double *ms,
                            struct rung_err *err)
{
    enum rung_status st = dev->ops->timer_start(dev, timer, err);
    for (int i = 0; i < launches && !st; i++)
        st = rung_session_launch(s, 0, err);
    if (!st)
        st = dev->ops->timer_stop(dev, timer, err);
    if (!st)
        st = dev->ops->timer_ms(dev, timer, ms, err);
    if (!st)
        *ms /= launches;
    return st;
}

/* At least one launch outside the clock (the first loads modules), then as many as a slice
 * of the asked length needs. */
static enum rung_status calibrate(struct rung_series *s, struct rung_device *dev,
                                  struct rung_timer *timer, double slice_ms,
                                  struct rung_err *err)
{
    double ms;
    enum rung_status st = rung_slice(s->session, dev, timer, 1, &ms, err);
    for (int i = 0; i < 2 && !st; i++) {
        st = rung_slice(s->session, dev, timer, i && ms < slice_ms / 8 ? 8 : 1, &ms, err);
        s->launches = ms > 0 && ms < slice_ms ? (int)fmin(ceil(slice_ms / ms), MAX_LAUNCHES) : 1;
    }
    return st;
}

/* Clocks climb and settle under load: the whole ladder is run unrecorded for a while. */
static enum rung_status warm(struct rung_series *series, size_t n, struct rung_device *dev,
                             struct rung_timer *timer, struct rung_err *err)
{
    enum rung_status st = RUNG_OK;
    double total = 0;
    while (total < WARM_MS && !st)
        for (size_t i = 0; i < n && !st; i++) {
            double ms = 0;
            st = rung_slice(series[i].session, dev, timer, series[i].launches, &ms, err);
            total += ms * series[i].launches + 1e-3;
        }
    return st;
}

static void shuffle(size_t *order, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        *state = rung_mix64(*state);
        size_t j = (size_t)(*state % i), t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
}

static enum rung_status one_round(struct rung_series *series, size_t n, bool has_reference,
                                  const size_t *order, size_t r, struct rung_device *dev,
                                  struct rung_timer *timer, struct rung_err *err)
{
    double first = NAN, second = NAN;
    enum rung_status st = RUNG_OK;

    if (has_reference)
        st = rung_slice(series[0].session, dev, timer, series[0].launches, &first, err);
    for (size_t k = 0; k < n && !st; k++) {
        struct rung_series *s = &series[order[k]];
        if (!(has_reference && order[k] == 0))
            st = rung_slice(s->session, dev, timer, s->launches, &s->ms[r], err);
    }
    if (has_reference && !st) {
        st = rung_slice(series[0].session, dev, timer, series[0].launches, &second, err);
        series[0].ms[r] = 0.5 * (first + second);
    }
    for (size_t k = 0; k < n && !st; k++)
        series[k].ratio[r] = k == 0 && has_reference
                                 ? first / second
                                 : 0.5 * (first + second) / series[k].ms[r];
    return st;
}

enum rung_status rung_measure(struct rung_series *series, size_t n, bool has_reference,
                              struct rung_bed *bed, const struct rung_measure_options *o,
                              struct rung_err *err)
{
    struct rung_device *dev = rung_bed_device(bed);
    struct rung_timer *timer;
    uint64_t state = o->seed;
    size_t *order = calloc(n ? n : 1, sizeof *order);
    enum rung_status st = dev->ops->timer_create(dev, &timer, err);

    if (st) {
        free(order);
        return st;
    }
    for (size_t i = 0; i < n && !st; i++) {
        series[i].ms = calloc((size_t)o->rounds, sizeof(double));
        series[i].ratio = calloc((size_t)o->rounds, sizeof(double));
        if (!order || !series[i].ms || !series[i].ratio)
            st = rung_fail(err, RUNG_E_NOMEM, "measure: out of memory");
        else
            st = calibrate(&series[i], dev, timer, o->slice_ms, err);
        if (order)
            order[i] = i;
    }
    if (!st)
        st = warm(series, n, dev, timer, err);
    for (int r = 0; r < o->rounds && !st; r++) {
        rung_progress(o->quiet, "round %d of %d", r + 1, o->rounds);
        shuffle(order, n, &state);
        st = one_round(series, n, has_reference, order, (size_t)r, dev, timer, err);
        for (size_t i = 0; i < n && !st; i++)
            series[i].n++;
    }
    rung_progress(o->quiet, "%s", "");
    for (size_t i = 0; i < n; i++)
        series[i].measured = series[i].n > 0;
    dev->ops->timer_destroy(dev, timer);
    free(order);
    return st;
}

void rung_series_finish(struct rung_series *s)
{
    free(s->ms);
    free(s->ratio);
    s->ms = s->ratio = NULL;
}
