/* rung ladder FAMILY|KERNEL...: the ratio table. */
#include "json.h"
#include "measure.h"
#include "plan.h"
#include "stats.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_ROUNDS 21
#define DEFAULT_SLICE_MS 20.0

/* One kernel on one case: a row, also when it failed. */
struct cell {
    const struct rung_plugin *plugin;
    struct rung_series series;
    struct rung_verdict verdict;
    struct rung_cost cost;
    const char *state;  /* "yes", "no", "refused", "unavailable", "failed" */
    char why[400];      /* when it is not "yes" */
};

struct ladder {
    const struct rung_options *o;
    const struct rung_plan *plan;
    const struct rung_registry *reg;
    struct rung_device *dev;
    json_t *rows, *run; /* --json */
    int rounds;
    bool wrong, failed;
};

static void cell_error(struct cell *x, const char *state, const char *why)
{
    x->state = state;
    snprintf(x->why, sizeof x->why, "%.*s", (int)sizeof x->why - 1, why);
}

/* Verifies one kernel; leaves its session open if it may be timed. */
static void verify_cell(struct ladder *l, struct rung_bed *bed, struct cell *x, uint64_t seed)
{
    struct rung_err err;
    enum rung_status st = RUNG_OK;

    rung_progress(l->o->quiet, "verifying %s", x->plugin->id);
    if (!x->series.session)
        st = rung_session_open(bed, x->plugin, &x->series.session, &err);
    if (!st)
        st = rung_session_verify_all(x->series.session, seed, 0, &x->verdict, &err);
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
    rung_progress(l->o->quiet, "%s", "");
}

static void add_json(struct ladder *l, const struct cell *x, const char *label, bool has_ref,
                     bool is_ref)
{
    json_t *e = rung_json_append(l->rows);
    const struct rung_series *s = &x->series;
    double lo = NAN, hi = NAN, ms = rung_median(s->ms, s->n), ratio = NAN;

    if (has_ref && is_ref && s->n) {
        ratio = lo = hi = 1.0;
    } else if (has_ref && s->n) {
        ratio = rung_median(s->ratio, s->n);
        rung_median_interval(s->ratio, s->n, &lo, &hi);
    }
    rung_json_text(e, "kernel", x->plugin->id);
    rung_json_text(e, "family", x->plugin->family);
    rung_json_text(e, "case", label);
    rung_json_text(e, "device", l->dev->info.kind);
    rung_json_number(e, "ms", ms);
    rung_json_number(e, "tflops", x->cost.flops / ms * 1e-9);
    rung_json_number(e, "ratio", ratio);
    rung_json_number(e, "ratio_lo", lo);
    rung_json_number(e, "ratio_hi", hi);
    rung_json_count(e, "rounds", (long long)s->n);
    rung_json_count(e, "launches", s->launches);
    rung_json_bool(e, "verified", !strcmp(x->state, "yes"));
    rung_json_bool(e, "official", false);
    rung_json_text(e, "why_not", strcmp(x->state, "yes") ? x->why
                                 : "the method that makes a ratio official is not in this version");
    rung_json_number(e, "error", x->verdict.worst);
    rung_json_number(e, "error_allowed", x->verdict.factor);
    const char *key, *value;
    for (size_t i = 0; s->session && rung_session_note(s->session, i, &key, &value); i++)
        rung_json_text(e, key, value);
}

static void add_text(struct rung_table *t, const struct cell *x, bool has_ref, bool is_ref,
                     bool tera)
{
    const struct rung_series *s = &x->series;
    const double ms = rung_median(s->ms, s->n);
    double lo, hi;

    rung_table_cell(t, "%s", x->plugin->id);
    rung_table_cell(t, "%s", x->plugin->title);
    if (s->n) {
        rung_table_cell(t, "%.4f", ms);
        rung_table_cell(t, "%.2f", x->cost.flops / ms * (tera ? 1e-9 : 1e-6));
    } else {
        rung_table_cell(t, "—");
        rung_table_cell(t, "—");
    }
    if (has_ref && s->n && is_ref) {
        rung_table_cell(t, "100.0%%");
        rung_table_cell(t, "reference");
    } else if (has_ref && s->n) {
        rung_median_interval(s->ratio, s->n, &lo, &hi);
        rung_table_cell(t, "%.1f%%", 100.0 * rung_median(s->ratio, s->n));
        rung_table_cell(t, "%.2f – %.2f%%", 100.0 * lo, 100.0 * hi);
    } else {
        rung_table_cell(t, "—");
        rung_table_cell(t, "—");
    }
    rung_table_cell(t, "%s", x->state);
}

/* All the notes of all kernels, once each, under the table. */
static void print_notes(const struct cell *cell, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *key, *value;
        for (size_t k = 0; cell[i].series.session &&
                           rung_session_note(cell[i].series.session, k, &key, &value); k++)
            printf("  %s %s: %s\n", cell[i].plugin->id, key, value);
        if (strcmp(cell[i].state, "yes"))
            printf("  %s %s: %s\n", cell[i].plugin->id,
                   !strcmp(cell[i].state, "no") ? "wrong" : cell[i].state, cell[i].why);
    }
}

static void report(struct ladder *l, const struct cell *cell, size_t n, const char *label,
                   bool has_ref)
{
    const bool tera = !strcmp(l->dev->ops->kind, "cuda");
    const char *const heading[] = {"kernel", "title", ">ms", tera ? ">TFLOP/s" : ">GFLOP/s",
                                   ">of reference", "95% interval", "verified"};
    if (l->o->json) {
        for (size_t i = 0; i < n; i++)
            add_json(l, &cell[i], label, has_ref, i == 0);
        return;
    }
    struct rung_table *t = rung_table_create(heading, 7);
    printf("\n%s %s, %d rounds\n", l->plan->family->name, label, l->rounds);
    for (size_t i = 0; i < n; i++)
        add_text(t, &cell[i], has_ref, i == 0, tera);
    rung_table_print(t);
    rung_table_destroy(t);
    print_notes(cell, n);
    fflush(stdout);
}

/* Times the verified cells, in their order, and verifies them again on fresh data. */
static void measure_cells(struct ladder *l, struct rung_bed *bed, struct cell *cell, size_t n,
                          bool has_ref)
{
    struct rung_series *list = calloc(n ? n : 1, sizeof *list);
    const struct rung_measure_options mo = {
        .rounds = l->rounds,
        .slice_ms = l->o->slice_ms > 0 ? l->o->slice_ms : DEFAULT_SLICE_MS,
        .seed = l->o->seed,
        .quiet = l->o->quiet,
    };
    struct rung_err err = {RUNG_E_NOMEM, "ladder: out of memory"};
    size_t m = 0;

    for (size_t i = 0; list && i < n; i++)
        if (!strcmp(cell[i].state, "yes"))
            list[m++] = cell[i].series;
    /* Random floats, never whole numbers or zeros: what the data is decides the power drawn. */
    bool bad = !list || (m && rung_bed_load(bed, RUNG_DATA_FLOATS, l->o->seed + 2, &err)) ||
               (m && rung_measure(list, m, has_ref, bed, &mo, &err));
    m = 0;
    for (size_t i = 0; list && i < n; i++)
        if (!strcmp(cell[i].state, "yes"))
            cell[i].series = list[m++];
    if (bad) {
        l->failed = true;
        fprintf(stderr, "rung: ladder: %s\n", err.msg);
    }
    free(list);
    for (size_t i = 0; i < n && !bad; i++)
        if (!strcmp(cell[i].state, "yes"))
            verify_cell(l, bed, &cell[i], l->o->seed + 1000);
}

static void one_case(struct ladder *l, const struct rung_case *c)
{
    const size_t n = l->plan->n_kernels;
    struct cell *cell = calloc(n, sizeof *cell);
    struct rung_bed *bed = NULL;
    struct rung_err err;
    char label[160];

    rung_case_label(c, label, sizeof label);
    if (!cell || rung_bed_create(l->dev, c, 1, &bed, &err)) {
        fprintf(stderr, "rung: %s: %s\n", label, cell ? err.msg : "out of memory");
        l->failed = true;
        free(cell);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        cell[i].plugin = l->plan->kernel[i];
        cell[i].plugin->cost(rung_bed_case(bed), &cell[i].cost);
        verify_cell(l, bed, &cell[i], l->o->seed);
    }
    const char *ref = l->plan->family->reference_id(l->dev->ops->kind);
    const bool has_ref = ref && !strcmp(cell[0].plugin->id, ref) && !strcmp(cell[0].state, "yes");
    if (l->dev->ops->has_time)
        measure_cells(l, bed, cell, n, has_ref);
    report(l, cell, n, label, has_ref);
    for (size_t i = 0; i < n; i++) {
        rung_session_close(cell[i].series.session);
        rung_series_finish(&cell[i].series);
    }
    rung_bed_destroy(bed);
    free(cell);
}

static void print_head(const struct ladder *l, const char *why)
{
    const struct rung_device_info *d = &l->dev->info;
    if (why[0])
        printf("%s\n", why);
    printf("%s ladder on %s", l->plan->family->name, d->kind);
    if (d->index >= 0)
        printf(":%d", d->index);
    printf(" %s", d->name);
    if (d->sm)
        printf(", sm_%u, %u SM, driver CUDA %d.%d, runtime %d.%d", d->sm, d->sm_count,
               d->driver_version / 1000, d->driver_version % 1000 / 10, d->runtime_version / 1000,
               d->runtime_version % 1000 / 10);
    if (!l->dev->ops->has_time)
        printf("; this device has no time, so there are no rates and no ratios");
    printf("\n");
}

/* CUDA kernels of the family that this device cannot run are said, not left out. */
static void report_lacking(const struct ladder *l)
{
    char why[128];
    for (size_t i = 0; i < l->reg->n && !strcmp(l->dev->ops->kind, "emu"); i++) {
        const struct rung_plugin *p = l->reg->item[i].plugin;
        if (!p || strcmp(p->family, l->plan->family->name) || strcmp(p->target, "cuda") ||
            !rung_registry_lacks(l->reg, p->id, "emu", why, sizeof why))
            continue;
        if (l->o->json) {
            json_t *e = rung_json_append(l->rows);
            rung_json_text(e, "kernel", p->id);
            rung_json_text(e, "family", p->family);
            rung_json_text(e, "device", "emu");
            rung_json_text(e, "state", "skipped");
            rung_json_text(e, "why_not", why);
        } else {
            printf("%s skipped: %s\n", p->id, why);
        }
    }
}

static int dry_run(const struct ladder *l)
{
    char label[160];
    for (size_t i = 0; i < l->plan->n_cases; i++)
        for (size_t k = 0; k < l->plan->n_kernels; k++) {
            rung_case_label(&l->plan->cases[i], label, sizeof label);
            printf("%s %s on %s, %d rounds\n", l->plan->kernel[k]->id, label,
                   l->dev->ops->kind, l->rounds);
        }
    return RUNG_EXIT_OK;
}

/* The reference joins a ladder of named kernels: a ratio needs both sides. */
static enum rung_status add_reference(const struct rung_options *o,
                                      const struct rung_registry *reg, const char *kind,
                                      struct rung_plan *plan, struct rung_err *err)
{
    const char *ref = plan->family->reference_id(kind);
    struct rung_options with = *o;
    char *arg[1] = {(char *)(uintptr_t)ref};

    if (!ref || !strcmp(plan->kernel[0]->id, ref) || !rung_registry_find(reg, ref, kind))
        return RUNG_OK;
    with.arg = arg;
    with.n_args = 1;
    return rung_plan_kernels(&with, reg, kind, plan, err);
}

int cmd_ladder(const struct rung_options *o)
{
    struct rung_registry reg;
    struct rung_plan plan = {0};
    struct ladder l = {.o = o, .plan = &plan, .reg = &reg,
                       .rounds = o->rounds ? o->rounds : DEFAULT_ROUNDS};
    struct rung_err err;
    char why[300];
    int code = RUNG_EXIT_OK;

    if (rung_plan_registry(o, &reg, &err))
        return rung_die(&err);
    if (rung_device_open(o->device, true, &l.dev, why, sizeof why, &err) ||
        rung_plan_kernels(o, &reg, l.dev->ops->kind, &plan, &err) ||
        add_reference(o, &reg, l.dev->ops->kind, &plan, &err) ||
        rung_plan_cases(o, !strcmp(l.dev->ops->kind, "cuda") ? plan.family->default_shapes
                                                             : plan.family->default_shapes_cpu,
                        &plan, &err)) {
        code = rung_die(&err);
        goto done;
    }
    if (o->dry_run) {
        code = dry_run(&l);
        goto done;
    }
    json_t *root = NULL;
    if (o->json) {
        root = json_object();
        l.run = rung_json_object_in(root, "run");
        l.rows = rung_json_array_in(root, "rows");
        rung_json_text(l.run, "device", l.dev->info.kind);
        rung_json_text(l.run, "device_name", l.dev->info.name);
        rung_json_text(l.run, "uuid", l.dev->info.uuid);
        rung_json_number(l.run, "seed", (double)o->seed);
        rung_json_text(l.run, "note", why[0] ? why : NULL);
    } else {
        print_head(&l, why);
    }
    for (size_t i = 0; i < plan.n_cases; i++)
        one_case(&l, &plan.cases[i]);
    report_lacking(&l);
    if (o->json)
        rung_json_print(root);
    code = l.failed ? RUNG_EXIT_FAILURE : l.wrong ? RUNG_EXIT_WRONG : RUNG_EXIT_OK;
done:
    rung_device_close(l.dev);
    rung_plan_finish(&plan);
    rung_registry_finish(&reg);
    return code;
}
