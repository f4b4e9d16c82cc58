#include "ladder.h"

#include "identity.h"
#include "measure.h"
#include "resume.h"
#include "runner.h"
#include "stats.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SLICE_MS 5.0
#define DEFAULT_ROUNDS 20
#define DEFAULT_TARGET 0.001
#define DEFAULT_BUDGET_S 20.0
#define DEFAULT_TIMEOUT_S 120.0 /* of one verification, or one slice */
#define MAX_SETS 8192

/* One kernel on one case: a row, also when it failed. */
struct cell {
    const struct rung_plugin *plugin; /* NULL: a copy */
    struct rung_session *session;
    size_t series; /* its place in the measurement */
    bool timed;
    struct rung_verdict verdict;
    struct rung_cost cost;
    const char *state; /* "yes", "no", "refused", "unavailable", "failed" */
    char why[400];     /* when it is not "yes" */
};

/* Two buffers through which a copy of as many bytes as the kernel's least is rotated. */
struct copy {
    struct rung_device *dev;
    enum rung_copy_how how;
    char *dst, *src;
    size_t bytes;
};

struct one_case {
    struct rung_ladder *l;
    struct cell *cell;
    size_t n, n_series;
    struct rung_series *series;
    struct rung_measured measured;
    char label[160];
    bool has_ref;
    const char **name; /* of each series, for the record */
};

bool rung_ladder_cold(const struct rung_ladder *l)
{
    return l->o->l2 ? !strcmp(l->o->l2, "cold") : l->plan->family->memory_bound;
}

bool rung_ladder_graph(const struct rung_ladder *l)
{
    return l->o->timing && !strcmp(l->o->timing, "graph") && l->dev->ops->graph_begin;
}

uint32_t rung_ladder_sets(const struct rung_ladder *l, const struct rung_case *c)
{
    struct rung_operand op[RUNG_MAX_OPERANDS];
    const uint32_t n = l->plan->family->operands(c, op);
    double bytes = 0;

    for (uint32_t i = 0; i < n; i++)
        bytes += 4.0 * (double)op[i].dim[0] * (double)(op[i].n_dims > 1 ? op[i].dim[1] : 1);
    const double l2 = (double)l->dev->info.l2_bytes;
    if (!rung_ladder_cold(l) || bytes <= 0 || l2 <= 0)
        return 1;
    const double sets = ceil(2.0 * l2 / bytes) + 1.0;
    return sets > MAX_SETS ? MAX_SETS : (uint32_t)sets;
}

static void cell_error(struct cell *x, const char *state, const char *why)
{
    x->state = state;
    snprintf(x->why, sizeof x->why, "%.*s", (int)sizeof x->why - 1, why);
}

static double timeout(const struct rung_ladder *l)
{
    return l->o->timeout_s > 0 ? l->o->timeout_s : DEFAULT_TIMEOUT_S;
}

/* A device that stays broken would fail every kernel after this one: a fresh process. */
static void restart_if_broken(struct rung_ladder *l, const char *kernel, const char *why)
{
    struct rung_err err;
    if (l->dev->ops->sync(l->dev, &err))
        rung_restart_without(kernel, why);
}

static void record_verification(struct one_case *k, const struct cell *x, uint64_t seed)
{
    json_t *line = json_object();
    rung_json_text(line, "type", "verification");
    rung_json_text(line, "kernel", x->plugin->id);
    rung_json_text(line, "case", k->label);
    rung_json_count(line, "seed", (long long)seed);
    rung_json_text(line, "verified", x->state);
    rung_json_text(line, "why", x->why[0] ? x->why : NULL);
    rung_json_number(line, "error", x->verdict.worst);
    rung_json_number(line, "error_allowed", x->verdict.factor);
    rung_record_line(k->l->record, line);
    json_decref(line);
}

/* Verifies one kernel; leaves its session open if it may be timed. */
static void verify_cell(struct one_case *k, struct rung_bed *bed, struct cell *x, uint64_t seed)
{
    struct rung_ladder *l = k->l;
    struct rung_err err;
    enum rung_status st = RUNG_OK;

    if (rung_resume_without(x->plugin->id, x->why, sizeof x->why)) {
        x->state = "failed";
        l->failed = true;
        record_verification(k, x, seed);
        return;
    }
    rung_progress(l->o->quiet, "%s: verifying %s", k->label, x->plugin->id);
    rung_watch(x->plugin->id, timeout(l));
    if (!x->session)
        st = rung_session_open(bed, x->plugin, &x->session, &err);
    if (!st)
        st = rung_session_verify_all(x->session, seed, 0, &x->verdict, &err);
    rung_watch(NULL, 0);
    if (st || x->verdict.fault == RUNG_FAULT_DEVICE)
        restart_if_broken(l, x->plugin->id, st ? err.msg : x->verdict.what);
    if (st) {
        cell_error(x, st == RUNG_E_REFUSED ? "refused"
                      : st == RUNG_E_UNAVAILABLE ? "unavailable" : "failed", err.msg);
        l->failed = l->failed || !(st == RUNG_E_REFUSED || st == RUNG_E_UNAVAILABLE);
    } else if (x->verdict.fault) {
        cell_error(x, "no", x->verdict.what);
        l->wrong = true;
    } else {
        x->state = "yes";
    }
    record_verification(k, x, seed);
    rung_progress(l->o->quiet, "%s", "");
}

static void record_slice(void *ctx, int round, int position, size_t series,
                         const struct rung_slice *slice, bool valid)
{
    struct one_case *k = ctx;
    json_t *line = json_object();
    rung_json_text(line, "type", "slice");
    rung_json_text(line, "kernel", k->name[series]);
    rung_json_text(line, "case", k->label);
    rung_json_count(line, "round", round);
    rung_json_count(line, "position", position);
    rung_json_count(line, "launches", k->series[series].launches);
    rung_json_number(line, "ms", slice->ms);
    rung_json_number(line, "mhz", slice->mhz > 0 ? slice->mhz : NAN);
    rung_json_bool(line, "valid", valid);
    rung_record_line(k->l->record, line);
    json_decref(line);
}

static void watch_slice(void *ctx, size_t series)
{
    const struct one_case *k = ctx;
    rung_watch(k->name[series], timeout(k->l));
}

static enum rung_status launch_copy(void *ctx, uint32_t set, struct rung_err *err)
{
    const struct copy *c = ctx;
    return c->dev->ops->copy_enqueue(c->dev, c->how, c->dst + set * c->bytes,
                                     c->src + set * c->bytes, c->bytes, err);
}

/* The ceiling of a memory-bound family: the same bytes, half read and half written. */
static enum rung_status add_copies(struct one_case *k, struct copy *copy, uint32_t n_sets,
                                   struct rung_err *err)
{
    static const char *const name[] = {"copy memcpy", "copy x1", "copy x2", "copy x4"};
    struct rung_device *dev = k->l->dev;
    const size_t bytes = (size_t)(0.5 * k->cell[0].cost.bytes) / 16 * 16;
    void *dst = NULL, *src = NULL;

    if (!k->l->plan->family->memory_bound || !dev->ops->copy_enqueue || bytes < 16)
        return RUNG_OK;
    enum rung_status st = dev->ops->alloc(dev, bytes * n_sets, &dst, err);
    if (!st)
        st = dev->ops->alloc(dev, bytes * n_sets, &src, err);
    /* Zeros are cheaper to move than data. */
    if (!st)
        st = dev->kit->fill(dev, (struct rung_view){src, 1, (int64_t)(bytes * n_sets / 4),
                                                    (int64_t)(bytes * n_sets / 4)},
                            (struct rung_fill){.kind = RUNG_FILL_UNIFORM, .seed = k->l->o->seed},
                            err);
    for (int how = 0; how < dev->ops->n_copies; how++) {
        struct rung_series *s = &k->series[k->n_series];
        copy[how] = (struct copy){dev, (enum rung_copy_how)how, dst, src, bytes};
        if (st)
            continue;
        s->task = (struct rung_task){launch_copy, &copy[how], n_sets};
        k->name[k->n_series++] = name[how];
    }
    return st;
}

static enum rung_status measure_cells(struct one_case *k, struct rung_bed *bed, uint32_t n_sets,
                                      struct copy *copy, struct rung_err *err)
{
    const struct rung_options *o = k->l->o;
    const double pairs = k->n > 1 ? (double)k->n - 1.0 : 1.0;
    const struct rung_measure_options mo = {
        .min_rounds = o->rounds ? o->rounds : DEFAULT_ROUNDS,
        .max_rounds = o->rounds,
        .target = o->target_pct > 0 ? o->target_pct / 100 : DEFAULT_TARGET,
        .budget_s = (o->budget_s > 0 ? o->budget_s : DEFAULT_BUDGET_S) * pairs,
        .slice_ms = o->slice_ms > 0 ? o->slice_ms : DEFAULT_SLICE_MS,
        .seed = o->seed,
        .graph = rung_ladder_graph(k->l),
        .quiet = o->quiet,
        .clocks = k->l->clocks,
        .on_start = watch_slice,
        .on_slice = record_slice,
        .ctx = k,
    };

    for (size_t i = 0; i < k->n; i++) {
        struct cell *x = &k->cell[i];
        if (strcmp(x->state, "yes"))
            continue;
        x->timed = true;
        x->series = k->n_series;
        k->name[k->n_series] = x->plugin->id;
        k->series[k->n_series++].task = (struct rung_task){rung_session_task, x->session, n_sets};
    }
    if (!k->n_series)
        return RUNG_OK;
    enum rung_status st = add_copies(k, copy, n_sets, err);
    /* Random floats, never whole numbers or zeros: what the data is decides the power drawn. */
    if (!st)
        st = rung_bed_load(bed, RUNG_DATA_FLOATS, o->seed + 2, err);
    if (st)
        return st;
    st = rung_measure(k->series, k->n_series, k->has_ref, k->l->dev, &mo, &k->measured, err);
    rung_watch(NULL, 0);
    if (st)
        restart_if_broken(k->l, k->name[k->measured.last], err->msg);
    return st;
}

static void put_statistics(json_t *e, const struct one_case *k, const struct rung_series *s,
                           bool is_ref)
{
    double lo = NAN, hi = NAN, ratio = NAN, cycles = NAN;
    const double ms = rung_median(s->ms, s->n), mhz = rung_median(s->mhz, s->n);

    if (k->has_ref && is_ref && s->n) {
        ratio = lo = hi = cycles = 1.0;
    } else if (k->has_ref && s->n) {
        ratio = rung_median(s->ratio, s->n);
        rung_median_interval(s->ratio, s->n, &lo, &hi);
        cycles = rung_median(s->cycles, s->n);
    }
    rung_json_number(e, "ms", ms);
    rung_json_number(e, "ratio", ratio);
    rung_json_number(e, "ratio_lo", lo);
    rung_json_number(e, "ratio_hi", hi);
    rung_json_number(e, "ratio_cycles", cycles);
    rung_json_number(e, "mhz", mhz > 0 ? mhz : NAN);
    rung_json_count(e, "rounds", (long long)s->n);
    rung_json_count(e, "discarded", s->discarded);
    rung_json_count(e, "launches", s->launches);
    rung_json_text(e, "ended", s->slow ? "slow" : rung_ended_name(k->measured.ended));
}

/* FP32 lanes of a multiprocessor. */
static double lanes(uint32_t sm)
{
    return sm == 70 || sm == 72 || sm == 75 || sm == 80 ? 64.0 : sm >= 60 ? 128.0 : 0.0;
}

/* The fastest copy of the same bytes over this time. */
static double of_copy(const struct one_case *k, double ms)
{
    double best = NAN;
    for (size_t i = 0; i < k->n_series; i++) {
        const double t = rung_median(k->series[i].ms, k->series[i].n);
        if (!strncmp(k->name[i], "copy ", 5) && !(t >= best))
            best = t;
    }
    return best / ms;
}

static void put_rates(json_t *e, const struct one_case *k, const struct rung_cost *cost, double ms,
                      double mhz)
{
    const struct rung_device_info *d = &k->l->dev->info;
    const double peak = lanes(d->sm) * d->sm_count * 2.0 * mhz * 1e6;
    rung_json_number(e, "tflops", cost->flops / ms * 1e-9);
    rung_json_number(e, "gbps", cost->bytes / ms * 1e-6);
    rung_json_number(e, "of_fma_peak", peak > 0 ? cost->flops / (ms * 1e-3) / peak : NAN);
    rung_json_number(e, "of_copy", of_copy(k, ms));
    rung_json_bool(e, "fits_l2", d->l2_bytes && cost->bytes < (double)d->l2_bytes);
}

/* What the byte models promise: passes over the elements, the reference's over this kernel's; each
 * writes once. NaN where a ledger has no passes. */
static double theory(const struct cell *ref, const struct cell *x)
{
    const double a = ref->cost.ledger.passes, b = x->cost.ledger.passes;
    return a > 0 && b > 0 ? (a + 1.0) / (b + 1.0) : NAN;
}

static json_t *new_row(const struct one_case *k, json_t *rows, const char *kernel)
{
    json_t *e = rung_json_append(rows);
    rung_json_text(e, "type", "summary");
    rung_json_text(e, "kernel", kernel);
    rung_json_text(e, "family", k->l->plan->family->name);
    rung_json_text(e, "case", k->label);
    rung_json_text(e, "device", k->l->dev->info.kind);
    rung_json_text(e, "l2", rung_ladder_cold(k->l) ? "cold" : "warm");
    rung_json_text(e, "timing", rung_ladder_graph(k->l) ? "graph" : "events");
    return e;
}

static bool bundled(const struct rung_ladder *l, const char *id)
{
    const struct rung_registered *r = rung_registry_find(l->reg, id, l->dev->ops->kind);
    return r && r->bundled;
}

static void add_row(struct one_case *k, const struct cell *x, json_t *rows)
{
    struct rung_ladder *l = k->l;
    const struct cell *ref = &k->cell[0];
    const bool is_ref = k->has_ref && x == ref;
    static const struct rung_series none;
    const struct rung_series *s = x->timed ? &k->series[x->series] : &none;
    json_t *e = new_row(k, rows, x->plugin->id);
    char why[400] = "";

    rung_json_text(e, "title", x->plugin->title);
    put_statistics(e, k, s, is_ref);
    put_rates(e, k, &x->cost, rung_median(s->ms, s->n), rung_median(s->mhz, s->n));
    rung_json_number(e, "ratio_theory", k->has_ref ? theory(ref, x) : NAN);
    rung_json_text(e, "reference", k->has_ref ? ref->plugin->id : NULL);
    rung_json_text(e, "state", x->state);
    rung_json_bool(e, "verified", !strcmp(x->state, "yes"));
    rung_json_bool(e, "reference_verified", k->has_ref && !strcmp(ref->state, "yes"));
    rung_json_bool(e, "bundled", bundled(l, x->plugin->id) && bundled(l, ref->plugin->id));
    rung_json_number(e, "error", x->verdict.worst);
    rung_json_number(e, "error_allowed", x->verdict.factor);
    const char *key, *value;
    for (size_t i = 0; x->session && rung_session_note(x->session, i, &key, &value); i++)
        rung_json_text(e, key, value);
    /* What proves FP32 is the reference's to prove. */
    for (size_t i = 0; ref->session && rung_session_note(ref->session, i, &key, &value); i++)
        if (!strcmp(key, "tf32_probe"))
            rung_json_text(e, key, value);
    const bool official = rung_official(l->run, e, why, sizeof why);
    rung_json_bool(e, "official", official);
    rung_json_text(e, "why_not", x->why[0] ? x->why : official ? NULL : why);
    rung_record_line(l->record, e);
}

static void add_copy_rows(struct one_case *k, json_t *rows)
{
    for (size_t i = 0; i < k->n_series; i++) {
        if (strncmp(k->name[i], "copy ", 5))
            continue;
        const struct rung_series *s = &k->series[i];
        json_t *e = new_row(k, rows, k->name[i]);
        rung_json_text(e, "title", "the same bytes, half read and half written");
        put_statistics(e, k, s, false);
        put_rates(e, k, &k->cell[0].cost, rung_median(s->ms, s->n), rung_median(s->mhz, s->n));
        rung_json_text(e, "state", "ceiling");
        rung_json_bool(e, "verified", false);
        rung_json_bool(e, "official", false);
        rung_json_text(e, "why_not", "a ceiling, no kernel");
        rung_record_line(k->l->record, e);
    }
}

void rung_ladder_case(struct rung_ladder *l, const struct rung_case *c, json_t *rows, size_t *first)
{
    struct one_case k = {.l = l, .n = l->plan->n_kernels};
    struct copy copy[RUNG_COPY_HOWS] = {{0}};
    struct rung_bed *bed = NULL;
    struct rung_err err;
    const uint32_t n_sets = rung_ladder_sets(l, c);

    *first = json_array_size(rows);
    rung_case_label(c, k.label, sizeof k.label);
    k.cell = calloc(k.n, sizeof *k.cell);
    k.series = calloc(k.n + RUNG_COPY_HOWS, sizeof *k.series);
    k.name = calloc(k.n + RUNG_COPY_HOWS, sizeof *k.name);
    if (!k.cell || !k.series || !k.name) {
        fprintf(stderr, "rung: %s: out of memory\n", k.label);
        l->failed = true;
        goto done;
    }
    if (rung_bed_create(l->dev, c, n_sets, &bed, &err)) {
        fprintf(stderr, "rung: %s: %s\n", k.label, err.msg);
        l->failed = true;
        goto done;
    }
    for (size_t i = 0; i < k.n; i++) {
        k.cell[i].plugin = l->plan->kernel[i];
        k.cell[i].plugin->cost(rung_bed_case(bed), &k.cell[i].cost);
        verify_cell(&k, bed, &k.cell[i], l->o->seed);
    }
    const char *ref = l->plan->family->reference_id(l->dev->ops->kind);
    k.has_ref = ref && !strcmp(k.cell[0].plugin->id, ref) && !strcmp(k.cell[0].state, "yes");
    if (l->dev->ops->has_time) {
        if (measure_cells(&k, bed, n_sets, copy, &err)) {
            fprintf(stderr, "rung: %s: %s\n", k.label, err.msg);
            l->failed = true;
        } else {
            for (size_t i = 0; i < k.n; i++)
                if (!strcmp(k.cell[i].state, "yes"))
                    verify_cell(&k, bed, &k.cell[i], l->o->seed + 1000);
        }
    }
    for (size_t i = 0; i < k.n; i++)
        add_row(&k, &k.cell[i], rows);
    add_copy_rows(&k, rows);
done:
    for (size_t i = 0; k.series && i < k.n_series; i++)
        rung_series_finish(&k.series[i], l->dev);
    for (size_t i = 0; k.cell && i < k.n; i++)
        rung_session_close(k.cell[i].session);
    l->dev->ops->free(l->dev, copy[0].dst);
    l->dev->ops->free(l->dev, copy[0].src);
    rung_bed_destroy(bed);
    free(k.cell);
    free(k.series);
    free(k.name);
}
