/* rung check [KERNEL...]: every kernel over the edge cases of its family. */
#include "json.h"
#include "plan.h"
#include "runner.h"
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What came of one kernel. */
struct outcome {
    const struct rung_plugin *plugin;
    const char *device;
    int passed, failed, refused, errors;
    double worst, allowed; /* the float case nearest its bound */
    char first[600];       /* first failure, or why the kernel was skipped */
    bool skipped;
};

/* Devices that were asked for, opened once each. */
struct devices {
    struct rung_device *open[3];
    struct rung_err why[3];
    bool tried[3];
};

static struct rung_device *device_of(const struct rung_options *o, struct devices *d,
                                     const char *target, const char **why)
{
    static const char *const kind[] = {"cuda", "emu", "cpu"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(kind[i], target))
            continue;
        if (!d->tried[i]) {
            d->tried[i] = true;
            if (rung_device_open(o->device ? o->device : target, false, &d->open[i], NULL, 0,
                                 &d->why[i]))
                d->open[i] = NULL;
        }
        *why = d->why[i].msg;
        return d->open[i];
    }
    return NULL;
}

static void note_failure(struct outcome *out, const struct rung_case *c, const char *what)
{
    char label[160];
    rung_case_label(c, label, sizeof label);
    if (!out->first[0])
        snprintf(out->first, sizeof out->first, "%s: %.*s", label, 420, what);
}

static void check_case(const struct rung_options *o, const struct rung_family *f,
                       struct rung_device *dev, const struct rung_case *c, struct outcome *out)
{
    struct rung_bed *bed = NULL;
    struct rung_session *s = NULL;
    struct rung_verdict v = {0};
    struct rung_err err;
    enum rung_status st = rung_can_run(out->plugin, dev, c, &err);

    (void)f;
    if (!st)
        st = rung_bed_create(dev, c, 1, &bed, &err);
    if (!st)
        st = rung_session_open(bed, out->plugin, &s, &err);
    if (!st)
        st = rung_session_verify_all(s, o->seed, 0, &v, &err);
    if (st == RUNG_E_REFUSED) {
        out->refused++;
    } else if (st == RUNG_E_UNAVAILABLE) {
        out->skipped = true;
        snprintf(out->first, sizeof out->first, "%.*s", (int)sizeof out->first - 1, err.msg);
    } else if (st) {
        out->errors++;
        note_failure(out, c, err.msg);
    } else if (v.fault) {
        out->failed++;
        note_failure(out, c, v.what);
    } else {
        out->passed++;
        if (v.factor > 0 && (out->allowed == 0 || v.worst / v.factor > out->worst / out->allowed)) {
            out->worst = v.worst;
            out->allowed = v.factor;
        }
    }
    rung_session_close(s);
    rung_bed_destroy(bed);
}

static void check_kernel(const struct rung_options *o, struct devices *d,
                         const struct rung_plan *shapes, struct outcome *out)
{
    const struct rung_family *f = rung_family_find(out->plugin->family);
    const char *why = "";
    struct rung_device *dev = device_of(o, d, out->plugin->target, &why);
    const size_t n = shapes->n_cases ? shapes->n_cases : f->n_edges;

    if (out->skipped)
        return;
    if (!dev) {
        out->skipped = true;
        snprintf(out->first, sizeof out->first, "%.*s", (int)sizeof out->first - 1, why);
        return;
    }
    for (size_t i = 0; i < n && !out->skipped; i++) {
        struct rung_case c;
        if (shapes->n_cases)
            c = shapes->cases[i];
        else
            rung_case_from_edge(f, &f->edges[i], &c);
        rung_progress(o->quiet, "%s on %s: case %zu of %zu", out->plugin->id, out->device, i + 1,
                      n);
        check_case(o, f, dev, &c, out);
    }
    rung_progress(o->quiet, "%s", "");
}

static const char *kind_name(const char *kind)
{
    for (size_t i = 0; rung_device_kinds[i]; i++)
        if (!strcmp(rung_device_kinds[i]->kind, kind))
            return rung_device_kinds[i]->kind;
    return "?";
}

/* One plugin a kernel id: of the asked device, else where it can be checked here. */
static enum rung_status choose(const struct rung_options *o, const struct rung_registry *reg,
                               struct devices *d, const char *id, struct outcome *out,
                               struct rung_err *err)
{
    static const char *const order[] = {"cuda", "emu", "cpu"};
    const struct rung_registered *r;
    char kind[8] = "";

    if (o->device) {
        snprintf(kind, sizeof kind, "%.*s", (int)strcspn(o->device, ":"), o->device);
        out->device = kind_name(kind);
        if (rung_registry_lacks(reg, id, kind, out->first, sizeof out->first)) {
            out->skipped = true;
            out->plugin = rung_registry_any(reg, id)->plugin;
            return RUNG_OK;
        }
        enum rung_status s = rung_plan_find(reg, id, kind, &r, err);
        out->plugin = s ? NULL : r->plugin;
        return s;
    }
    enum rung_status s = rung_plan_find(reg, id, NULL, &r, err);
    if (s)
        return s;
    out->plugin = r->plugin;
    for (size_t i = 0; i < 3; i++) {
        const char *why;
        r = rung_registry_find(reg, id, order[i]);
        if (r && device_of(o, d, order[i], &why)) {
            out->plugin = r->plugin;
            break;
        }
    }
    out->device = out->plugin->target;
    return RUNG_OK;
}

/* Kernels in C are no part of a check of the CUDA kernels, nor the other way round. */
static bool elsewhere(const struct rung_options *o, const struct rung_plugin *p)
{
    if (o->shapes && !o->family && strcmp(p->family, "sgemm"))
        return true; /* shapes without a family are sgemm's */
    return o->device && (!strncmp(o->device, "cpu", 3)) != !strcmp(p->target, "cpu");
}

static enum rung_status collect(const struct rung_options *o, const struct rung_registry *reg,
                                struct devices *d, struct outcome **list, size_t *n,
                                struct rung_err *err)
{
    const size_t most = reg->n + (size_t)o->n_args;
    *list = calloc(most ? most : 1, sizeof **list);
    *n = 0;
    if (!*list)
        return rung_fail(err, RUNG_E_NOMEM, "check: out of memory");
    for (int i = 0; i < o->n_args; i++) {
        enum rung_status s = choose(o, reg, d, o->arg[i], &(*list)[*n], err);
        if (s)
            return s;
        (*n)++;
    }
    for (size_t i = 0; i < reg->n && !o->n_args; i++) {
        const struct rung_plugin *p = reg->item[i].plugin;
        bool seen = false;
        if (!p || (o->family && strcmp(o->family, p->family)) || elsewhere(o, p))
            continue;
        for (size_t j = 0; j < *n; j++)
            seen = seen || !strcmp((*list)[j].plugin->id, p->id);
        struct rung_err ignored;
        if (!seen && !choose(o, reg, d, p->id, &(*list)[*n], &ignored))
            (*n)++;
    }
    if (!*n)
        return rung_fail(err, RUNG_E_USAGE, "no kernel to check; `rung list` shows what there is");
    return RUNG_OK;
}

static int by_id(const void *a, const void *b)
{
    const struct outcome *x = a, *y = b;
    int d = strcmp(x->plugin->family, y->plugin->family);
    return d ? d : strverscmp(x->plugin->id, y->plugin->id);
}

static void print_json(const struct outcome *list, size_t n)
{
    json_t *root = json_object(), *rows = rung_json_array_in(root, "kernels");
    for (size_t i = 0; i < n; i++) {
        const struct outcome *x = &list[i];
        json_t *e = rung_json_append(rows);
        rung_json_text(e, "kernel", x->plugin->id);
        rung_json_text(e, "device", x->device);
        rung_json_count(e, "passed", x->passed);
        rung_json_count(e, "failed", x->failed);
        rung_json_count(e, "refused", x->refused);
        rung_json_count(e, "errors", x->errors);
        rung_json_bool(e, "skipped", x->skipped);
        rung_json_number(e, "error", x->worst);
        rung_json_number(e, "error_allowed", x->allowed);
        rung_json_text(e, "first", x->first[0] ? x->first : NULL);
    }
    rung_json_print(root);
}

static void print_text(const struct outcome *list, size_t n)
{
    static const char *const heading[] = {"kernel",  "device",   ">passed", ">failed",
                                          ">refused", ">errors", ">error of allowed", "verdict"};
    struct rung_table *t = rung_table_create(heading, 8);
    for (size_t i = 0; i < n; i++) {
        const struct outcome *x = &list[i];
        rung_table_cell(t, "%s", x->plugin->id);
        rung_table_cell(t, "%s", x->device);
        rung_table_cell(t, "%d", x->passed);
        rung_table_cell(t, "%d", x->failed);
        rung_table_cell(t, "%d", x->refused);
        rung_table_cell(t, "%d", x->errors);
        if (x->allowed > 0)
            rung_table_cell(t, "%.2f of %.0f", x->worst, x->allowed);
        else
            rung_table_cell(t, "—");
        rung_table_cell(t, "%s", x->skipped ? "skipped" : x->failed || x->errors ? "WRONG" : "ok");
    }
    rung_table_print(t);
    rung_table_destroy(t);
    for (size_t i = 0; i < n; i++)
        if (list[i].first[0])
            printf("%s: %s\n", list[i].plugin->id, list[i].first);
}

int cmd_check(const struct rung_options *o)
{
    struct rung_registry reg;
    struct rung_plan shapes = {0};
    struct devices d = {0};
    struct outcome *list = NULL;
    struct rung_err err;
    size_t n = 0;
    int code = RUNG_EXIT_OK;

    if (!o->shapes && (o->has_alpha || o->has_beta || o->has_eps || o->ld || o->offset)) {
        rung_fail(&err, RUNG_E_USAGE, "--alpha, --beta, --eps, --ld and --offset need --shapes: "
                  "the edge cases have their own");
        return rung_die(&err);
    }
    if (rung_plan_registry(o, &reg, &err))
        return rung_die(&err);
    /* Shapes are of the family that was named, or of the first kernel that was. */
    const struct rung_registered *first = o->n_args ? rung_registry_any(&reg, o->arg[0]) : NULL;
    shapes.family = rung_family_find(o->family ? o->family : first ? first->plugin->family : "sgemm");
    if (!shapes.family)
        rung_fail(&err, RUNG_E_USAGE, "--family '%s': no such family", o->family);
    if (!shapes.family || (o->shapes && rung_plan_cases(o, NULL, &shapes, &err)) ||
        collect(o, &reg, &d, &list, &n, &err)) {
        code = rung_die(&err);
        goto done;
    }
    for (size_t i = 0; i < n && o->shapes; i++)
        if (strcmp(list[i].plugin->family, shapes.family->name)) {
            rung_fail(&err, RUNG_E_USAGE, "--shapes are of %s and %s is of %s: check one family at a time",
                      shapes.family->name, list[i].plugin->id, list[i].plugin->family);
            code = rung_die(&err);
            goto done;
        }
    qsort(list, n, sizeof *list, by_id);
    for (size_t i = 0; i < n; i++)
        check_kernel(o, &d, &shapes, &list[i]);
    if (o->json)
        print_json(list, n);
    else
        print_text(list, n);
    int ran = 0;
    for (size_t i = 0; i < n; i++) {
        ran += list[i].passed + list[i].failed + list[i].errors + list[i].refused;
        if (list[i].errors)
            code = RUNG_EXIT_FAILURE;
        else if (list[i].failed && !code)
            code = RUNG_EXIT_WRONG;
        if (list[i].skipped && o->n_args && !code) {
            /* Asked for by name and not checked must not read as checked. */
            fprintf(stderr, "rung: %s was not checked: %s\n", list[i].plugin->id, list[i].first);
            code = RUNG_EXIT_FAILURE;
        }
    }
    if (!ran && !code) {
        fprintf(stderr, "rung: nothing was checked\n");
        code = RUNG_EXIT_FAILURE;
    }
done:
    free(list);
    for (int i = 0; i < 3; i++)
        rung_device_close(d.open[i]);
    rung_plan_finish(&shapes);
    rung_registry_finish(&reg);
    return code;
}
