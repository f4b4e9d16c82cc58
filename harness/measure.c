#include "measure.h"

#include "fill.h"
#include "stats.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LAUNCHES 4096
#define GRAPH_LAUNCHES 64    /* in one graph, or as many as there are sets */
#define WARM_STRETCH_S 0.4
#define WARM_MOST_S 12.0     /* a GPU under load drifts for seconds after its clock has settled */
#define WARM_MOST_HOST_S 0.9
#define STEADY 0.0005        /* neighbouring stretches agree to this, in every ratio, twice */
#define SLOW_FACTOR 20.0     /* a launch longer than this many slices of the reference */
#define SLOW_ROUNDS 6        /* the fewest that give a 95% interval of the median */
#define CLOCK_TOLERANCE 0.01 /* of the SM clock, between a slice and its reference */

static enum rung_status enqueue(struct rung_series *s, struct rung_device *dev, int launches,
                                struct rung_err *err)
{
    enum rung_status st = RUNG_OK;
    if (s->graph) {
        for (int i = 0; i < launches && !st; i += s->in_graph)
            st = dev->ops->graph_launch(dev, s->graph, err);
        return st;
    }
    for (int i = 0; i < launches && !st; i++) {
        st = s->task.launch(s->task.ctx, s->next_set, err);
        s->next_set = (s->next_set + 1) % s->task.n_sets;
    }
    return st;
}

static enum rung_status slice(struct rung_series *s, struct rung_device *dev,
                              struct rung_timer *timer, int launches, struct rung_slice *out,
                              struct rung_err *err)
{
    const struct rung_device_ops *op = dev->ops;
    double cycles, ns;
    struct rung_err unknown;
    enum rung_status st = op->clock_mark ? op->clock_mark(dev, 0, err) : RUNG_OK;

    out->mhz = 0;
    if (!st)
        st = op->timer_start(dev, timer, err);
    if (!st)
        st = enqueue(s, dev, launches, err);
    if (!st)
        st = op->timer_stop(dev, timer, err);
    if (!st && op->clock_mark)
        st = op->clock_mark(dev, 1, err);
    if (!st)
        st = op->timer_ms(dev, timer, &out->ms, err);
    if (st)
        return st;
    out->ms /= launches;
    if (op->clock_mark && !op->clock_read(dev, &cycles, &ns, &unknown))
        out->mhz = cycles / ns * 1e3;
    return RUNG_OK;
}

enum rung_status rung_time_launches(const struct rung_task *task, struct rung_device *dev,
                                    struct rung_timer *timer, int launches, double *ms,
                                    struct rung_err *err)
{
    struct rung_series s = {.task = *task};
    struct rung_slice got;
    enum rung_status st = slice(&s, dev, timer, launches, &got, err);
    if (!st)
        *ms = got.ms;
    return st;
}

/* What is the same for all slices of a measurement. */
struct context {
    struct rung_series *series;
    struct rung_device *dev;
    struct rung_timer *timer;
    const struct rung_measure_options *o;
    struct rung_measured *out;
};

static enum rung_status slice_of(const struct context *c, size_t i, int launches,
                                 struct rung_slice *got, struct rung_err *err)
{
    c->out->last = i;
    if (c->o->on_start)
        c->o->on_start(c->o->ctx, i);
    return slice(&c->series[i], c->dev, c->timer, launches, got, err);
}

/* At least one launch outside the clock (the first loads modules), then as many in a slice as
 * its length asks for. */
static enum rung_status calibrate(const struct context *c, size_t i, struct rung_err *err)
{
    struct rung_series *s = &c->series[i];
    const struct rung_measure_options *o = c->o;
    struct rung_slice got;
    enum rung_status st = slice_of(c, i, 1, &got, err);

    s->launches = 1;
    for (int turn = 0; turn < 2 && !st; turn++) {
        st = slice_of(c, i, turn && got.ms < o->slice_ms / 8 ? 8 : 1, &got, err);
        if (!st && got.ms > 0 && got.ms < o->slice_ms)
            s->launches = (int)fmin(ceil(o->slice_ms / got.ms), MAX_LAUNCHES);
    }
    s->slow = !st && i > 0 && got.ms > SLOW_FACTOR * o->slice_ms;
    if (st || !o->graph || !c->dev->ops->graph_begin)
        return st;
    /* Whole graphs in a slice; every set equally often in a graph. */
    const int sets = (int)s->task.n_sets;
    const int most = s->launches < GRAPH_LAUNCHES ? s->launches : GRAPH_LAUNCHES;
    s->in_graph = (most + sets - 1) / sets * sets;
    s->launches = (s->launches + s->in_graph - 1) / s->in_graph * s->in_graph;
    st = c->dev->ops->graph_begin(c->dev, err);
    if (st)
        return st;
    st = enqueue(s, c->dev, s->in_graph, err);
    struct rung_err end_err;
    const enum rung_status ended = c->dev->ops->graph_end(c->dev, &s->graph, st ? &end_err : err);
    return st ? st : ended;
}

/* One stretch: all but the slow ones in turn; mean time of each. */
static enum rung_status stretch(const struct context *c, size_t n, double *mean,
                                struct rung_err *err)
{
    enum rung_status st = RUNG_OK;
    int turns = 0;
    for (size_t i = 0; i < n; i++)
        mean[i] = 0;
    for (const double from = rung_now(); rung_now() - from < WARM_STRETCH_S && !st; turns++)
        for (size_t i = 0; i < n && !st; i++) {
            struct rung_slice got = {0};
            if (c->series[i].slow)
                continue;
            st = slice_of(c, i, c->series[i].launches, &got, err);
            mean[i] += got.ms;
        }
    for (size_t i = 0; i < n; i++)
        mean[i] /= turns ? turns : 1;
    return st;
}

/* Clocks climb and settle under load, and so does what they do not show: the ladder runs unrecorded until
 * its times against the reference have stopped moving, not for a fixed time. */
static enum rung_status warm(const struct context *c, size_t n, struct rung_err *err)
{
    const double begin = rung_now();
    const double most = c->dev->ops->clock_mark ? WARM_MOST_S : WARM_MOST_HOST_S;
    double *now = calloc(2 * n, sizeof *now), *before = now + n;
    enum rung_status st = now ? RUNG_OK : rung_fail(err, RUNG_E_NOMEM, "measure: out of memory");
    int steady = 0;

    while (!st && steady < 2 && rung_now() - begin < most) {
        st = stretch(c, n, now, err);
        bool same = before[0] > 0 && fabs(now[0] - before[0]) <= 4 * STEADY * now[0];
        for (size_t i = 1; i < n; i++)
            same = same && (c->series[i].slow ||
                            fabs(now[i] / now[0] - before[i] / before[0]) <= STEADY * now[i] / now[0]);
        steady = same ? steady + 1 : 0;
        memcpy(before, now, n * sizeof *now);
    }
    free(now);
    c->out->warm_s = rung_now() - begin;
    return st;
}

static enum rung_status keep(struct rung_series *s, double ms, double ratio, double cycles,
                             double mhz, struct rung_err *err)
{
    if (s->n == s->cap) {
        const size_t cap = s->cap ? 2 * s->cap : 64;
        double **const column[] = {&s->ms, &s->ratio, &s->cycles, &s->mhz};
        for (size_t i = 0; i < 4; i++) {
            double *bigger = realloc(*column[i], cap * sizeof(double));
            if (!bigger)
                return rung_fail(err, RUNG_E_NOMEM, "measure: out of memory");
            *column[i] = bigger;
        }
        s->cap = cap;
    }
    s->ms[s->n] = ms;
    s->ratio[s->n] = ratio;
    s->cycles[s->n] = cycles;
    s->mhz[s->n++] = mhz;
    return RUNG_OK;
}

struct round {
    struct rung_slice first, last; /* of the reference */
    struct rung_slice *got;        /* one a series */
    double *at;                    /* middle of each slice, in ms of device time */
    double end;
};

/* The reference as it would have been at that moment of the round. */
static struct rung_slice reference_at(const struct round *r, double at)
{
    const double f = r->end > 0 ? at / r->end : 0.5;
    struct rung_slice s = {r->first.ms + f * (r->last.ms - r->first.ms), 0};
    if (r->first.mhz > 0 && r->last.mhz > 0)
        s.mhz = r->first.mhz + f * (r->last.mhz - r->first.mhz);
    return s;
}

static bool clocks_differ(double a, double b)
{
    return a > 0 && b > 0 && fabs(a - b) > CLOCK_TOLERANCE * b;
}

static bool wanted(const struct rung_series *s, int round)
{
    return !s->slow || s->n < SLOW_ROUNDS || round == 0;
}

static enum rung_status time_round(const struct context *c, bool has_reference, const size_t *order,
                                   size_t n_order, int number, struct round *r,
                                   struct rung_err *err)
{
    struct rung_series *series = c->series;
    enum rung_status st = RUNG_OK;
    double at = 0;

    if (has_reference) {
        st = slice_of(c, 0, series[0].launches, &r->first, err);
        at = 0.5 * r->first.ms * series[0].launches;
    }
    for (size_t k = 0; k < n_order && !st; k++) {
        const size_t i = order[k];
        if (!wanted(&series[i], number))
            continue;
        st = slice_of(c, i, series[i].launches, &r->got[i], err);
        const double length = r->got[i].ms * series[i].launches;
        r->at[i] = at + 0.5 * length;
        at += length;
    }
    if (has_reference && !st) {
        st = slice_of(c, 0, series[0].launches, &r->last, err);
        r->end = at + 0.5 * r->last.ms * series[0].launches;
    }
    return st;
}

static void report_slice(const struct rung_measure_options *o, int round, int position, size_t i,
                         const struct rung_slice *s, bool valid)
{
    if (o->on_slice)
        o->on_slice(o->ctx, round, position, i, s, valid);
}

/* Turns a round into ratios; what a clock makes void is counted and left out. */
static enum rung_status keep_round(struct rung_series *series, bool has_reference,
                                   const size_t *order, size_t n_order, int number,
                                   bool slowdown, const struct round *r,
                                   const struct rung_measure_options *o, struct rung_err *err)
{
    enum rung_status st = RUNG_OK;
    const bool moved = has_reference && clocks_differ(r->first.mhz, r->last.mhz);
    int position = has_reference;

    if (has_reference) {
        const bool valid = !slowdown && !moved;
        report_slice(o, number, 0, 0, &r->first, valid);
        report_slice(o, number, (int)n_order + 1, 0, &r->last, valid);
        if (valid)
            st = keep(&series[0], 0.5 * (r->first.ms + r->last.ms), r->first.ms / r->last.ms,
                      r->first.ms * r->first.mhz / (r->last.ms * r->last.mhz), r->last.mhz, err);
        else
            series[0].discarded++;
    }
    for (size_t k = 0; k < n_order && !st; k++) {
        struct rung_series *s = &series[order[k]];
        const struct rung_slice *got = &r->got[order[k]];
        const struct rung_slice ref = reference_at(r, r->at[order[k]]);
        if (!wanted(s, number))
            continue;
        const bool valid = !slowdown && !moved &&
                           !(has_reference && clocks_differ(got->mhz, ref.mhz));
        report_slice(o, number, position++, order[k], got, valid);
        if (!valid) {
            s->discarded++;
            continue;
        }
        const double ratio = has_reference ? ref.ms / got->ms : NAN;
        st = keep(s, got->ms, ratio, got->mhz > 0 && ref.mhz > 0 ? ratio * ref.mhz / got->mhz : NAN,
                  got->mhz, err);
    }
    return st;
}

static void shuffle(size_t *order, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        *state = rung_mix64(*state);
        const size_t j = (size_t)(*state % i), t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
}

static void reverse(size_t *order, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        const size_t t = order[i];
        order[i] = order[n - 1 - i];
        order[n - 1 - i] = t;
    }
}

/* Are all intervals narrow enough? Slow series have what they will get. */
static bool narrow(const struct rung_series *series, size_t n, bool has_reference, double target)
{
    for (size_t i = has_reference; i < n; i++) {
        const double *v = has_reference ? series[i].ratio : series[i].ms;
        if (!series[i].slow && !(rung_half_width(v, series[i].n) <= target))
            return false;
    }
    return true;
}

static int fewest(const struct rung_series *series, size_t n)
{
    int least = INT32_MAX;
    for (size_t i = 0; i < n; i++)
        if (!series[i].slow && (int)series[i].n < least)
            least = (int)series[i].n;
    return least == INT32_MAX ? (int)series[0].n : least;
}

static enum rung_status all_rounds(const struct context *c, size_t n, bool has_reference,
                                   struct rung_err *err)
{
    struct rung_series *series = c->series;
    const struct rung_measure_options *o = c->o;
    struct rung_measured *out = c->out;
    size_t n_order = n - has_reference, *order = calloc(n + 1, sizeof *order);
    struct round r = {.got = calloc(n + 1, sizeof *r.got), .at = calloc(n + 1, sizeof *r.at)};
    uint64_t state = rung_mix64(o->seed + 1);
    enum rung_status st = RUNG_OK;
    const double begin = rung_now();
    int look = o->min_rounds, tried = 0;

    if (!order || !r.got || !r.at)
        st = rung_fail(err, RUNG_E_NOMEM, "measure: out of memory");
    for (size_t i = 0; i < n_order && !st; i++)
        order[i] = i + has_reference;
    out->ended = RUNG_ENDED_ROUNDS;
    while (!st) {
        const int valid = fewest(series, n);
        if (valid >= look || (o->max_rounds && valid >= o->max_rounds)) {
            if (narrow(series, n, has_reference, o->target)) {
                out->ended = RUNG_ENDED_TARGET;
                break;
            }
            look *= 2;
        }
        if (o->max_rounds && valid >= o->max_rounds)
            break;
        if (rung_now() - begin > o->budget_s && (valid >= o->min_rounds || tried > 4 * o->min_rounds)) {
            out->ended = RUNG_ENDED_BUDGET;
            break;
        }
        rung_progress(o->quiet, "round %d, %.0f s", valid + 1, rung_now() - begin);
        if (tried % 2)
            reverse(order, n_order);
        else
            shuffle(order, n_order, &state);
        const double from = rung_now();
        struct rung_clock_window w;
        st = time_round(c, has_reference, order, n_order, tried, &r, err);
        rung_clocks_window(o->clocks, from, rung_now(), &w);
        if (!st)
            st = keep_round(series, has_reference, order, n_order, tried, w.slowdown, &r, o, err);
        out->slices_s += 1e-3 * (r.end + 0.5 * (r.first.ms + r.last.ms) * series[0].launches);
        tried++;
    }
    rung_progress(o->quiet, "%s", "");
    out->rounds = fewest(series, n);
    out->wall_s = rung_now() - begin;
    rung_clocks_window(o->clocks, begin, rung_now(), &out->clocks);
    free(order);
    free(r.got);
    free(r.at);
    return st;
}

enum rung_status rung_measure(struct rung_series *series, size_t n, bool has_reference,
                              struct rung_device *dev, const struct rung_measure_options *o,
                              struct rung_measured *out, struct rung_err *err)
{
    struct rung_timer *timer;
    enum rung_status st;

    memset(out, 0, sizeof *out);
    if (!n)
        return RUNG_OK;
    st = dev->ops->timer_create(dev, &timer, err);
    if (st)
        return st;
    const struct context c = {series, dev, timer, o, out};
    for (size_t i = 0; i < n && !st; i++)
        st = calibrate(&c, i, err);
    if (!st)
        st = warm(&c, n, err);
    if (!st)
        st = all_rounds(&c, n, has_reference, err);
    dev->ops->timer_destroy(dev, timer);
    return st;
}

void rung_series_finish(struct rung_series *s, struct rung_device *dev)
{
    free(s->ms);
    free(s->ratio);
    free(s->cycles);
    free(s->mhz);
    s->ms = s->ratio = s->cycles = s->mhz = NULL;
    if (s->graph)
        dev->ops->graph_destroy(dev, s->graph);
    s->graph = NULL;
}

const char *rung_ended_name(enum rung_ended e)
{
    static const char *const name[] = {"target", "budget", "rounds"};
    return name[e];
}
