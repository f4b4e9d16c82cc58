/* rung run KERNEL SHAPE... [REPS] */
#include "json.h"
#include "measure.h"
#include "runner.h"
#include "plan.h"
#include "stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_REPS 11

static void print_verdict(const struct rung_verdict *v)
{
    if (v->fault)
        printf("verified   no: %s: %s\n", rung_fault_name(v->fault), v->what);
    else
        printf("verified   yes: %llu elements, whole numbers exactly, floats within %.3g of "
               "%.3g units of 2^-24 |A||B|\n",
               (unsigned long long)v->checked, v->worst, v->factor);
}

/* One warm-up launch at least, then every repetition timed on its own. */
static enum rung_status time_reps(struct rung_session *s, struct rung_device *dev, int reps,
                                  double *ms, struct rung_err *err)
{
    const struct rung_task task = {rung_session_task, s, 1};
    struct rung_timer *timer;
    double warm;
    enum rung_status st = dev->ops->timer_create(dev, &timer, err);
    if (st)
        return st;
    for (int i = 0; i < 3 && !st; i++)
        st = rung_time_launches(&task, dev, timer, 1, &warm, err);
    for (int i = 0; i < reps && !st; i++)
        st = rung_time_launches(&task, dev, timer, 1, &ms[i], err);
    dev->ops->timer_destroy(dev, timer);
    return st;
}

static void print_json(const struct rung_plugin *p, const struct rung_device *dev,
                       const char *label, const struct rung_session *s,
                       const struct rung_verdict *v, const struct rung_cost *cost,
                       const double *ms, int reps)
{
    json_t *root = json_object(), *notes = rung_json_object_in(root, "notes");
    const char *key, *value;
    const double median = rung_median(ms, (size_t)reps);

    rung_json_text(root, "kernel", p->id);
    rung_json_text(root, "family", p->family);
    rung_json_text(root, "case", label);
    rung_json_text(root, "device", dev->info.kind);
    rung_json_text(root, "device_name", dev->info.name);
    rung_json_bool(root, "verified", v->fault == RUNG_FAULT_NONE);
    rung_json_text(root, "fault", v->fault ? rung_fault_name(v->fault) : NULL);
    rung_json_text(root, "what", v->fault ? v->what : NULL);
    rung_json_number(root, "error", v->worst);
    rung_json_number(root, "error_allowed", v->factor);
    rung_json_number(root, "ms", median);
    rung_json_number(root, "ms_min", rung_minimum(ms, (size_t)reps));
    rung_json_number(root, "reps", reps);
    rung_json_number(root, "tflops", cost->flops / median * 1e-9);
    for (size_t i = 0; rung_session_note(s, i, &key, &value); i++)
        rung_json_text(notes, key, value);
    rung_json_print(root);
}

static void print_text(const struct rung_plugin *p, const struct rung_device *dev,
                       const char *label, const struct rung_session *s,
                       const struct rung_verdict *v, const struct rung_cost *cost,
                       const double *ms, int reps)
{
    const char *key, *value;
    const double median = rung_median(ms, (size_t)reps);

    printf("%s  %s on %s %s\n", p->id, label, dev->info.kind, dev->info.name);
    print_verdict(v);
    if (!dev->ops->has_time)
        printf("time       —  (the %s device has no time)\n", dev->info.kind);
    else if (!v->fault)
        printf("time       %.6g ms median, %.6g ms least of %d\n"
               "rate       %.4g TFLOP/s, %.1f GB/s of algorithmic bytes\n",
               median, rung_minimum(ms, (size_t)reps), reps, cost->flops / median * 1e-9,
               cost->bytes / median * 1e-6);
    for (size_t i = 0; rung_session_note(s, i, &key, &value); i++)
        printf("%-10s %s\n", key, value);
}

static int run_case(const struct rung_options *o, const struct rung_plugin *p,
                    struct rung_device *dev, const struct rung_case *c, int reps)
{
    struct rung_bed *bed = NULL;
    struct rung_session *s = NULL;
    struct rung_verdict v;
    struct rung_err err;
    struct rung_cost cost = {0};
    char label[160];
    double *ms = calloc((size_t)reps, sizeof *ms);
    int code = RUNG_EXIT_OK;

    rung_case_label(c, label, sizeof label);
    if (!ms && rung_fail(&err, RUNG_E_NOMEM, "run: out of memory"))
        return rung_die(&err);
    if (rung_can_run(p, dev, c, &err))
        goto failed;
    if (rung_bed_create(dev, c, 1, &bed, &err) || rung_session_open(bed, p, &s, &err) ||
        rung_session_verify_all(s, o->seed, 0, &v, &err))
        goto failed;
    p->cost(rung_bed_case(bed), &cost);
    if (v.fault) {
        code = v.fault == RUNG_FAULT_DEVICE ? RUNG_EXIT_FAILURE : RUNG_EXIT_WRONG;
        for (int i = 0; i < reps; i++)
            ms[i] = NAN;
    } else if (!dev->ops->has_time) {
        for (int i = 0; i < reps; i++)
            ms[i] = NAN;
    } else if (time_reps(s, dev, reps, ms, &err)) {
        goto failed;
    }
    (o->json ? print_json : print_text)(p, dev, label, s, &v, &cost, ms, reps);
    if (v.fault)
        fprintf(stderr, "rung: %s on %s: %s\n", p->id, label, v.what);
    goto done;

failed:
    code = rung_exit_of(err.code);
    fprintf(stderr, "rung: %s on %s: %s%s\n", p->id, label,
            err.code == RUNG_E_REFUSED ? "refused: " : "", err.msg);
done:
    rung_session_close(s);
    rung_bed_destroy(bed);
    free(ms);
    return code;
}

int cmd_run(const struct rung_options *o)
{
    const struct rung_registered *r;
    struct rung_registry reg;
    struct rung_device *dev = NULL;
    struct rung_case c;
    struct rung_err err;
    char kind[8] = "", why[256];
    int reps = DEFAULT_REPS, code;

    if (o->n_args < 2) {
        rung_fail(&err, RUNG_E_USAGE, "run takes a kernel and a shape: rung run k6 4096 11");
        return rung_die(&err);
    }
    if (rung_plan_registry(o, &reg, &err))
        return rung_die(&err);
    if (o->device)
        snprintf(kind, sizeof kind, "%.*s", (int)strcspn(o->device, ":"), o->device);
    if (rung_plan_find(&reg, o->arg[0], kind[0] ? kind : NULL, &r, &err) ||
        rung_plan_case(o, rung_family_find(r->plugin->family), o->arg + 1, o->n_args - 1, &c,
                       &reps, &err)) {
        code = rung_die(&err);
    } else {
        /* What the plugin refuses whatever the device is said before a device is needed. */
        char reason[RUNG_REASON_MAX] = "";
        if (r->plugin->accepts && !r->plugin->accepts(&c, reason, sizeof reason)) {
            fprintf(stderr, "rung: %s: refused: %s\n", r->plugin->id, reason);
            code = RUNG_EXIT_REFUSED;
        } else if (rung_device_open(o->device ? o->device : r->plugin->target, true, &dev, why,
                                    sizeof why, &err)) {
            code = rung_die(&err);
        } else {
            code = run_case(o, r->plugin, dev, &c, reps);
        }
    }
    rung_device_close(dev);
    rung_registry_finish(&reg);
    return code;
}
