/* rung ladder FAMILY|KERNEL...: the ratio table. */
#include "identity.h"
#include "ladder.h"
#include "resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_head(const struct rung_ladder *l)
{
    const struct rung_device_info *d = &l->dev->info;
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
static void report_lacking(const struct rung_ladder *l, json_t *rows)
{
    char why[128];
    for (size_t i = 0; i < l->reg->n && !strcmp(l->dev->ops->kind, "emu"); i++) {
        const struct rung_plugin *p = l->reg->item[i].plugin;
        if (!p || strcmp(p->family, l->plan->family->name) || strcmp(p->target, "cuda") ||
            !rung_registry_lacks(l->reg, p->id, "emu", why, sizeof why))
            continue;
        if (l->o->json || l->o->csv) {
            json_t *e = rung_json_append(rows);
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

static int dry_run(const struct rung_ladder *l)
{
    char label[160];
    for (size_t i = 0; i < l->plan->n_cases; i++)
        for (size_t k = 0; k < l->plan->n_kernels; k++) {
            rung_case_label(&l->plan->cases[i], label, sizeof label);
            printf("%s %s on %s, L2 %s, %s\n", l->plan->kernel[k]->id, label, l->dev->ops->kind,
                   rung_ladder_cold(l) ? "cold" : "warm", rung_ladder_graph(l) ? "graph" : "events");
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

/* The families that the arguments name, or that the named kernels belong to, in their order. */
static size_t families_of(const struct rung_options *o, const struct rung_registry *reg,
                          const struct rung_family **out, size_t cap)
{
    size_t n = 0;
    for (int i = 0; i < o->n_args; i++) {
        const struct rung_registered *r = rung_registry_any(reg, o->arg[i]);
        const struct rung_family *f = rung_family_find(r ? r->plugin->family : o->arg[i]);
        bool seen = !f;
        for (size_t j = 0; j < n; j++)
            seen = seen || out[j] == f;
        if (!seen && n < cap)
            out[n++] = f;
    }
    return n;
}

/* The arguments that are this family's, or its kernels. */
static void args_of(const struct rung_options *o, const struct rung_registry *reg,
                    const struct rung_family *f, char **arg, int *n)
{
    *n = 0;
    for (int i = 0; i < o->n_args; i++) {
        const struct rung_registered *r = rung_registry_any(reg, o->arg[i]);
        const char *family = r ? r->plugin->family : o->arg[i];
        if (!f || !strcmp(family, f->name) || (!r && !rung_family_find(family)))
            arg[(*n)++] = o->arg[i];
    }
}

static enum rung_status plan_family(const struct rung_options *o, const struct rung_ladder *l,
                                    const struct rung_family *f, struct rung_plan *plan,
                                    struct rung_err *err)
{
    const char *kind = l->dev->ops->kind;
    struct rung_options mine = *o;
    char **arg = calloc((size_t)o->n_args + 1, sizeof *arg);
    if (!arg)
        return rung_fail(err, RUNG_E_NOMEM, "ladder: out of memory");
    args_of(o, l->reg, f, arg, &mine.n_args);
    mine.arg = arg;
    enum rung_status st = rung_plan_kernels(&mine, l->reg, kind, plan, err);
    if (!st)
        st = add_reference(o, l->reg, kind, plan, err);
    if (!st)
        st = rung_plan_cases(o, !strcmp(kind, "cuda") ? plan->family->default_shapes
                                                      : plan->family->default_shapes_cpu, plan, err);
    free(arg);
    return st;
}

static void run_family(struct rung_ladder *l, json_t *rows, size_t *skip)
{
    const bool print = !l->o->json && !l->o->csv;
    size_t first;
    if (print)
        print_head(l);
    for (size_t i = 0; i < l->plan->n_cases; i++) {
        if ((*skip) > 0) { /* done by a process before this one */
            (*skip)--;
            continue;
        }
        if (l->o->null_run)
            rung_null_case(l, &l->plan->cases[i], rows, &first);
        else
            rung_ladder_case(l, &l->plan->cases[i], rows, &first);
        if (print && l->o->null_run)
            rung_write_null_table(rows, first);
        else if (print)
            rung_write_table(rows, first, l->plan->family->memory_bound,
                             !strcmp(l->dev->ops->kind, "cuda"));
        rung_resume_done();
    }
    report_lacking(l, rows);
}

/* --official: every ratio must be, or the first that is not says why. */
static int official_code(const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i);
        const char *state = json_string_value(json_object_get(r, "state"));
        if (json_is_true(json_object_get(r, "official")) || !state || !strcmp(state, "ceiling"))
            continue;
        fprintf(stderr, "rung: not official: %s %s: %s\n",
                json_string_value(json_object_get(r, "kernel")),
                json_string_value(json_object_get(r, "case")),
                json_string_value(json_object_get(r, "why_not")));
        return RUNG_EXIT_UNOFFICIAL;
    }
    return RUNG_EXIT_OK;
}

static bool measured_something(const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (json_is_number(json_object_get(json_array_get(rows, i), "ms")))
            return true;
    return false;
}

int cmd_ladder(const struct rung_options *o)
{
    struct rung_registry reg;
    const struct rung_family *family[8];
    struct rung_plan plan[8];
    struct rung_ladder l = {.o = o, .reg = &reg};
    struct rung_err err;
    char why[300], clock_why[200];
    json_t *root = NULL, *rows = NULL;
    size_t n = 0, planned = 0, skip = rung_resume_cases();
    const char *resumed = rung_resume_record();
    int code = RUNG_EXIT_OK;

    memset(plan, 0, sizeof plan);
    if (rung_plan_registry(o, &reg, &err))
        return rung_die(&err);
    n = families_of(o, &reg, family, 8);
    if (rung_device_open(o->device, true, &l.dev, why, sizeof why, &err)) {
        code = rung_die(&err);
        goto done;
    }
    for (planned = 0; planned < (n ? n : 1); planned++)
        if (plan_family(o, &l, n ? family[planned] : NULL, &plan[planned], &err)) {
            code = rung_die(&err);
            goto done;
        }
    if (o->dry_run) {
        for (size_t i = 0; i < planned; i++) {
            l.plan = &plan[i];
            code = dry_run(&l);
        }
        goto done;
    }
    l.clocks = rung_clocks_start(l.dev->info.uuid, clock_why, sizeof clock_why);
    l.run = rung_identity(o, l.dev);
    rung_json_text(l.run, "note", why[0] ? why : NULL);
    rung_json_text(l.run, "clocks_unknown", clock_why[0] ? clock_why : NULL);
    if (l.dev->ops->has_time && rung_record_open(resumed ? resumed : o->out, resumed, &l.record, &err)) {
        if (o->out) {
            code = rung_die(&err);
            goto done;
        }
        fprintf(stderr, "rung: warning: %s\n", err.msg);
    }
    rung_record_line(l.record, l.run);
    rung_resume_record_is(rung_record_path(l.record));
    root = json_object();
    json_object_set(root, "run", l.run);
    rows = rung_json_array_in(root, "rows");
    rung_resume_rows(rows);
    if (!o->json && !o->csv && why[0])
        printf("%s\n", why);
    for (size_t i = 0; i < planned; i++) {
        l.plan = &plan[i];
        run_family(&l, rows, &skip);
    }
    if (o->csv)
        rung_write_csv(l.run, rows);
    if (rung_record_path(l.record) && !o->quiet)
        fprintf(stderr, "records: %s\n", rung_record_path(l.record));
    if (rung_record_close(l.record, &err))
        code = rung_die(&err);
    if (l.failed)
        code = RUNG_EXIT_FAILURE;
    else if (l.wrong && !code)
        code = RUNG_EXIT_WRONG;
    else if (!code && l.dev->ops->has_time && !measured_something(rows)) {
        fprintf(stderr, "rung: ladder: no data\n");
        code = RUNG_EXIT_FAILURE;
    }
    if (o->official && !code)
        code = official_code(rows);
    if (o->json)
        rung_json_print(json_incref(root));
done:
    json_decref(root);
    json_decref(l.run);
    rung_clocks_stop(l.clocks);
    rung_device_close(l.dev);
    for (size_t i = 0; i < 8; i++)
        rung_plan_finish(&plan[i]);
    rung_registry_finish(&reg);
    return code;
}
