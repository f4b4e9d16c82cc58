/*
 * rung compare RUN RUN: for what both runs measured, the second ratio over the first, with an
 * interval. Ratios were formed inside each run, so that they may be compared across boots;
 * times may not, unless --absolute says so.
 */
#include "json.h"
#include "options.h"
#include "record.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool same(const json_t *a, const json_t *b, const char *const *key)
{
    for (; *key; key++)
        if (strcmp(rung_json_get_text(a, *key), rung_json_get_text(b, *key)))
            return false;
    return true;
}

/* The last summary of the same kernel, case and way of timing in another run; NULL if none. */
static const json_t *partner(const json_t *run, const json_t *row)
{
    static const char *const key[] = {"type", "kernel", "case", "family", "device", "l2", "timing",
                                      NULL};
    for (size_t i = json_array_size(run); i > 0; i--)
        if (same(json_array_get(run, i - 1), row, key))
            return json_array_get(run, i - 1);
    return NULL;
}

/* The noise floor that a null run of either file has for this kernel and case; 0 if none. */
static double floor_of(const json_t *a, const json_t *b, const json_t *row)
{
    static const char *const key[] = {"kernel", "case", "l2", "timing", NULL};
    const json_t *const run[] = {a, b};
    double most = 0;
    for (int r = 0; r < 2; r++)
        for (size_t i = 0; i < json_array_size(run[r]); i++) {
            const json_t *line = json_array_get(run[r], i);
            if (!strcmp(rung_json_get_text(line, "type"), "null") && same(line, row, key))
                most = fmax(most, rung_json_get_number(line, "floor"));
        }
    return most;
}

struct compared {
    double value, lo, hi; /* b over a; above 1: faster in b */
};

/* Two independent medians: relative half-widths add in quadrature, the noise floor on top. */
static struct compared compare(const json_t *a, const json_t *b, bool absolute, double floor)
{
    struct compared c = {NAN, NAN, NAN};
    double half = 0;
    if (absolute) {
        c.value = rung_json_get_number(a, "ms") / rung_json_get_number(b, "ms");
    } else {
        c.value = rung_json_get_number(b, "ratio") / rung_json_get_number(a, "ratio");
    }
    const json_t *const side[] = {a, b};
    for (int i = 0; i < 2; i++) {
        const double w = 0.5 * (rung_json_get_number(side[i], "ratio_hi") - rung_json_get_number(side[i], "ratio_lo")) /
                         rung_json_get_number(side[i], "ratio");
        half += w * w;
    }
    half = sqrt(half) + floor;
    if (isnan(half) && absolute)
        return c; /* times without a reference have no interval */
    c.lo = c.value * (1.0 - half);
    c.hi = c.value * (1.0 + half);
    return c;
}

/* The reference is 1 by definition in both: there is nothing to compare. */
static bool comparable(const json_t *row, bool absolute)
{
    return !strcmp(rung_json_get_text(row, "type"), "summary") && json_is_number(json_object_get(row, "ms")) &&
           (absolute || (json_is_number(json_object_get(row, "ratio")) &&
                         strcmp(rung_json_get_text(row, "kernel"), rung_json_get_text(row, "reference"))));
}

static void put(const struct rung_options *o, struct rung_table *t, json_t *rows, const json_t *row,
                const struct compared *c, double floor)
{
    const bool known = !isnan(c->lo);
    const char *verdict = !known ? "no interval" : c->lo > 1.0 ? "faster"
                          : c->hi < 1.0 ? "slower" : "no difference";
    if (o->json) {
        json_t *e = rung_json_append(rows);
        rung_json_text(e, "kernel", rung_json_get_text(row, "kernel"));
        rung_json_text(e, "case", rung_json_get_text(row, "case"));
        rung_json_number(e, "change", c->value);
        rung_json_number(e, "change_lo", c->lo);
        rung_json_number(e, "change_hi", c->hi);
        rung_json_number(e, "floor", floor);
        rung_json_text(e, "verdict", verdict);
        return;
    }
    rung_table_cell(t, "%s", rung_json_get_text(row, "kernel"));
    rung_table_cell(t, "%s", rung_json_get_text(row, "case"));
    rung_table_cell(t, "%+.2f%%", 100.0 * (c->value - 1.0));
    if (known)
        rung_table_cell(t, "%+.2f – %+.2f", 100.0 * (c->lo - 1.0), 100.0 * (c->hi - 1.0));
    else
        rung_table_cell(t, "—");
    rung_table_cell(t, "%s", verdict);
}

static int compare_runs(const struct rung_options *o, const json_t *a, const json_t *b)
{
    static const char *const heading[] = {"kernel", "case", ">change", "95% interval", "verdict"};
    struct rung_table *t = o->json ? NULL : rung_table_create(heading, 5);
    json_t *root = json_object(), *rows = rung_json_array_in(root, "rows");
    int code = RUNG_EXIT_OK, n = 0;

    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *row = json_array_get(a, i), *other = partner(b, row);
        if (!comparable(row, o->absolute) || !other || !comparable(other, o->absolute) ||
            partner(a, row) != row)
            continue;
        const double floor = floor_of(a, b, row);
        const struct compared c = compare(row, other, o->absolute, floor);
        put(o, t, rows, row, &c, floor);
        n++;
        if (o->has_regression && c.hi < 1.0 - o->regression_pct / 100.0)
            code = RUNG_EXIT_REGRESSION;
    }
    if (o->json)
        rung_json_print(json_incref(root));
    else if (n)
        rung_table_print(t);
    if (t)
        rung_table_destroy(t);
    json_decref(root);
    if (!n) {
        fprintf(stderr, "rung: compare: no kernel and case with a ratio are in both runs\n");
        return RUNG_EXIT_FAILURE;
    }
    return code;
}

int cmd_compare(const struct rung_options *o)
{
    static const char *const boot[] = {"boot_id", "uuid", NULL}, *const binary[] = {"build_id", NULL};
    json_t *run[2] = {NULL, NULL};
    struct rung_err err;
    int code;

    if (o->n_args != 2) {
        rung_fail(&err, RUNG_E_USAGE, "compare takes two records: rung compare runs/A.jsonl runs/B.jsonl");
        return rung_die(&err);
    }
    if (rung_record_read(o->arg[0], &run[0], &err) || rung_record_read(o->arg[1], &run[1], &err)) {
        json_decref(run[0]);
        return rung_die(&err);
    }
    const json_t *a = json_array_get(run[0], 0), *b = json_array_get(run[1], 0);
    if (!o->json) {
        printf("B over A, above 0 means faster in B%s\n", o->absolute ? "; times" : "; ratios to the reference");
        printf("A %s %s %s\nB %s %s %s\n", rung_json_get_text(a, "time"), rung_json_get_text(a, "device_name"), rung_json_get_text(a, "git"),
               rung_json_get_text(b, "time"), rung_json_get_text(b, "device_name"), rung_json_get_text(b, "git"));
    }
    if (o->absolute && (!same(a, b, boot) || !same(a, b, binary)))
        fprintf(stderr, "rung: warning: times of different boots, GPUs or binaries: they drift by "
                "percents on their own\n");
    code = compare_runs(o, run[0], run[1]);
    json_decref(run[0]);
    json_decref(run[1]);
    return code;
}
