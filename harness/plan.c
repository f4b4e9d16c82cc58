#include "plan.h"

#include "device.h"
#include "sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMBERS 8

enum rung_status rung_plan_registry(const struct rung_options *o, struct rung_registry *reg,
                                    struct rung_err *err)
{
    enum rung_status s = rung_registry_load(reg, o->plugin_path, err);
    if (s || !o->strict || !rung_registry_rejected(reg))
        return s;
    for (size_t i = 0; i < reg->n; i++)
        if (!reg->item[i].plugin) {
            s = rung_fail(err, RUNG_E_BAD_PLUGIN, "--strict: %s: %s: %s", reg->item[i].origin,
                          rung_load_outcome_name(reg->item[i].outcome), reg->item[i].why);
            break;
        }
    rung_registry_finish(reg);
    return s;
}

/* "2048x18944x3584" or "4096" appended to v. */
static enum rung_status numbers(const char *word, size_t len, int64_t *v, size_t *n,
                                struct rung_err *err)
{
    const char *p = word, *end = word + len;
    while (p < end) {
        char *stop;
        errno = 0;
        long long x = *p >= '0' && *p <= '9' ? strtoll(p, &stop, 10) : (stop = NULL, -1);
        if (!stop || errno || stop > end || (stop < end && (*stop != 'x' || stop + 1 == end)))
            return rung_fail(err, RUNG_E_USAGE,
                             "'%.*s' is not a shape; write 4096 or 2048x18944x3584", (int)len, word);
        if (*n == MAX_NUMBERS)
            return rung_fail(err, RUNG_E_USAGE, "too many numbers in a shape");
        v[(*n)++] = x;
        p = stop < end ? stop + 1 : stop;
    }
    return RUNG_OK;
}

static enum rung_status apply_ld(const struct rung_options *o, const struct rung_family *f,
                                 struct rung_case *c, struct rung_err *err)
{
    struct rung_operand operand[RUNG_MAX_OPERANDS];
    char *end;

    if (!o->ld)
        return RUNG_OK;
    if (o->ld[0] == '+') {
        long long pad = strtoll(o->ld + 1, &end, 10);
        if (end == o->ld + 1 || *end || pad < 0)
            return rung_fail(err, RUNG_E_USAGE, "--ld '%s': write +PAD or LDA,LDB,LDC", o->ld);
        f->set_ld(c, pad);
        return RUNG_OK;
    }
    const char *p = o->ld;
    uint32_t n = f->operands(c, operand), last = n - 1;
    while (f->vectors >> last & 1)
        last--;
    for (uint32_t i = 0; i <= last; i++) {
        if (f->vectors >> i & 1)
            continue;
        long long v = strtoll(p, &end, 10);
        if (end == p || v < operand[i].dim[1] || *end != (i < last ? ',' : '\0'))
            return rung_fail(err, RUNG_E_USAGE,
                             "--ld '%s': write +PAD or one number a matrix, each at least its "
                             "columns (%s has %lld)",
                             o->ld, operand[i].name, (long long)operand[i].dim[1]);
        c->ld[i] = v;
        p = end + 1;
    }
    return RUNG_OK;
}

static enum rung_status apply(const struct rung_options *o, const struct rung_family *f,
                              struct rung_case *c, struct rung_err *err)
{
    if ((o->has_alpha || o->has_beta) && !strchr(f->scalars, 'a'))
        return rung_fail(err, RUNG_E_USAGE, "%s takes no --alpha and no --beta", f->name);
    if (o->has_eps && !strchr(f->scalars, 'e'))
        return rung_fail(err, RUNG_E_USAGE, "%s takes no --eps", f->name);
    if (o->has_eps && !(o->eps >= 0 && o->eps < 1e30))
        return rung_fail(err, RUNG_E_USAGE, "--eps %g: a number of at least 0", o->eps);
    if (o->has_alpha)
        c->alpha = (float)o->alpha;
    if (o->has_beta)
        c->beta = (float)o->beta;
    if (o->has_eps)
        c->eps = (float)o->eps;
    c->offset = o->offset;
    return apply_ld(o, f, c, err);
}

enum rung_status rung_plan_case(const struct rung_options *o, const struct rung_family *f,
                                char **word, int n_words, struct rung_case *c, int *reps,
                                struct rung_err *err)
{
    int64_t v[MAX_NUMBERS];
    size_t n = 0;

    for (int i = 0; i < n_words; i++) {
        enum rung_status s = numbers(word[i], strlen(word[i]), v, &n, err);
        if (s)
            return s;
    }
    if (n == 0)
        return rung_fail(err, RUNG_E_USAGE, "a shape is missing: %s", f->shape_help);
    enum rung_status s = rung_case_init(f, v, n, c, err);
    if (s && reps && n > 1 && !rung_case_init(f, v, n - 1, c, NULL)) {
        if (v[n - 1] < 1 || v[n - 1] > 1000000)
            return rung_fail(err, RUNG_E_USAGE, "%lld repetitions: give 1 to 1000000",
                             (long long)v[n - 1]);
        *reps = (int)v[n - 1];
        s = RUNG_OK;
    }
    return s ? s : apply(o, f, c, err);
}

static enum rung_status add_case(const struct rung_options *o, const char *word, size_t len,
                                 struct rung_plan *plan, struct rung_err *err)
{
    int64_t v[MAX_NUMBERS];
    size_t n = 0;
    struct rung_case c;
    enum rung_status s = numbers(word, len, v, &n, err);
    if (!s && n == 0)
        s = rung_fail(err, RUNG_E_USAGE, "--shapes '%s': an empty shape", word);
    if (!s)
        s = rung_case_init(plan->family, v, n, &c, err);
    if (!s)
        s = apply(o, plan->family, &c, err);
    if (s)
        return s;
    void *grown = realloc(plan->cases, (plan->n_cases + 1) * sizeof c);
    if (!grown)
        return rung_fail(err, RUNG_E_NOMEM, "plan: out of memory");
    plan->cases = grown;
    plan->cases[plan->n_cases++] = c;
    return RUNG_OK;
}

/* The shapes of a named set that are for this family. */
static enum rung_status add_set(const struct rung_options *o, const char *name, size_t len,
                                struct rung_plan *plan, struct rung_err *err)
{
    const char *shape, *text;
    const size_t before = plan->n_cases;
    enum rung_status s = rung_sweep_find(name, len, &text, err);

    while (!s && rung_sweep_next(&text, plan->family->name, &shape, &len))
        s = add_case(o, shape, len, plan, err);
    if (!s && plan->n_cases == before)
        s = rung_fail(err, RUNG_E_USAGE, "--shapes '%s': no shape of this set is for %s", name,
                      plan->family->name);
    return s;
}

enum rung_status rung_plan_cases(const struct rung_options *o, const char *fallback,
                                 struct rung_plan *plan, struct rung_err *err)
{
    const char *list = o->shapes ? o->shapes : fallback;

    while (*list) {
        size_t len = strcspn(list, ",");
        const bool named = (*list >= 'a' && *list <= 'z') || (*list >= 'A' && *list <= 'Z');
        enum rung_status s = named ? add_set(o, list, len, plan, err)
                                   : add_case(o, list, len, plan, err);
        if (s)
            return s;
        list += len;
        list += *list == ',';
    }
    if (plan->n_cases == 0)
        return rung_fail(err, RUNG_E_USAGE, "--shapes is empty; write 1024,2048x18944x3584 or the "
                         "name of a set");
    return RUNG_OK;
}

static bool has_id(const struct rung_registry *reg, const char *id)
{
    for (size_t i = 0; i < reg->n; i++)
        if (reg->item[i].plugin && !strcmp(reg->item[i].plugin->id, id))
            return true;
    return false;
}

/* A missing kernel must not read as a shorter table. */
static enum rung_status refused_name(const struct rung_registry *reg, const char *id,
                                     const char *target, struct rung_err *err)
{
    char file[160];
    snprintf(file, sizeof file, "%s.%s", id, target ? target : "");
    for (size_t i = 0; i < reg->n; i++) {
        const struct rung_registered *r = &reg->item[i];
        if (!r->plugin && strstr(r->origin, file))
            return rung_fail(err, RUNG_E_BAD_PLUGIN, "%s: %s: %s", r->origin,
                             rung_load_outcome_name(r->outcome), r->why);
    }
    return RUNG_OK;
}

enum rung_status rung_plan_find(const struct rung_registry *reg, const char *id,
                                const char *target, const struct rung_registered **out,
                                struct rung_err *err)
{
    static const char *const order[] = {"cuda", "emu", "cpu"};

    for (size_t i = 0; i < 3; i++) {
        if (target && strcmp(target, order[i]))
            continue;
        *out = rung_registry_find(reg, id, order[i]);
        if (*out)
            return RUNG_OK;
    }
    enum rung_status s = refused_name(reg, id, target, err);
    if (s)
        return s;
    if (target && has_id(reg, id))
        return rung_fail(err, RUNG_E_USAGE, "kernel '%s' is not built for %s; `rung list` shows "
                         "what is", id, target);
    return rung_fail(err, RUNG_E_USAGE, "no kernel '%s'; `rung list` shows what there is", id);
}

static enum rung_status add_kernel(struct rung_plan *plan, const struct rung_plugin *p,
                                   struct rung_err *err)
{
    for (size_t i = 0; i < plan->n_kernels; i++)
        if (plan->kernel[i] == p)
            return RUNG_OK;
    if (plan->family && strcmp(plan->family->name, p->family))
        return rung_fail(err, RUNG_E_USAGE, "%s is of family %s, %s of %s: one family a ladder",
                         p->id, p->family, plan->kernel[0]->id, plan->family->name);
    void *grown = realloc(plan->kernel, (plan->n_kernels + 1) * sizeof *plan->kernel);
    if (!grown)
        return rung_fail(err, RUNG_E_NOMEM, "plan: out of memory");
    plan->kernel = grown;
    plan->kernel[plan->n_kernels++] = p;
    plan->family = rung_family_find(p->family);
    return RUNG_OK;
}

static enum rung_status add_family(struct rung_plan *plan, const struct rung_registry *reg,
                                   const char *family, const char *target, struct rung_err *err)
{
    size_t before = plan->n_kernels;
    for (size_t i = 0; i < reg->n; i++) {
        const struct rung_registered *r = &reg->item[i];
        if (!r->plugin) {
            if (r->outcome != RUNG_LOAD_NOT_FOUND)
                continue;
            return rung_fail(err, RUNG_E_BAD_PLUGIN, "%s: %s", r->origin, r->why);
        }
        if (strcmp(r->plugin->family, family) || strcmp(r->plugin->target, target))
            continue;
        enum rung_status s = add_kernel(plan, r->plugin, err);
        if (s)
            return s;
    }
    if (plan->n_kernels == before)
        return rung_fail(err, RUNG_E_USAGE, "family %s has no kernel for the %s device", family,
                         target);
    return RUNG_OK;
}

static int by_id(const void *a, const void *b)
{
    const struct rung_plugin *x = *(const struct rung_plugin *const *)a;
    const struct rung_plugin *y = *(const struct rung_plugin *const *)b;
    return strverscmp(x->id, y->id);
}

enum rung_status rung_plan_kernels(const struct rung_options *o, const struct rung_registry *reg,
                                   const char *target, struct rung_plan *plan,
                                   struct rung_err *err)
{
    if (o->n_args == 0)
        return rung_fail(err, RUNG_E_USAGE, "name a family or kernels; `rung list` shows both");
    for (int i = 0; i < o->n_args; i++) {
        const struct rung_registered *r;
        enum rung_status s = rung_family_find(o->arg[i])
                                 ? add_family(plan, reg, o->arg[i], target, err)
                                 : rung_plan_find(reg, o->arg[i], target, &r, err);
        if (!s && !rung_family_find(o->arg[i]))
            s = add_kernel(plan, r->plugin, err);
        if (s)
            return s;
    }
    qsort(plan->kernel, plan->n_kernels, sizeof *plan->kernel, by_id);
    const char *ref = plan->family->reference_id(target);
    for (size_t i = 1; ref && i < plan->n_kernels; i++)
        if (!strcmp(plan->kernel[i]->id, ref)) {
            const struct rung_plugin *p = plan->kernel[i];
            memmove(plan->kernel + 1, plan->kernel, i * sizeof *plan->kernel);
            plan->kernel[0] = p;
        }
    return RUNG_OK;
}

void rung_plan_finish(struct rung_plan *plan)
{
    free(plan->kernel);
    free(plan->cases);
    memset(plan, 0, sizeof *plan);
}
