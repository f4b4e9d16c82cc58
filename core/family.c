#include "family.h"

#include <stdio.h>
#include <string.h>

const struct rung_family *const rung_families[] = {
    &rung_family_sgemm, &rung_family_rmsnorm, &rung_family_softmax, NULL};

const struct rung_family *rung_family_find(const char *name)
{
    for (size_t i = 0; rung_families[i]; i++)
        if (!strcmp(rung_families[i]->name, name))
            return rung_families[i];
    return NULL;
}

static void case_defaults(const struct rung_family *f, struct rung_case *c)
{
    memset(c, 0, sizeof *c);
    c->struct_size = sizeof *c;
    c->dtype = RUNG_F32;
    c->family = f->name;
    c->alpha = 1.0f;
    c->eps = 1e-6f;
}

enum rung_status rung_case_init(const struct rung_family *f, const int64_t *v, size_t n,
                                struct rung_case *c, struct rung_err *err)
{
    case_defaults(f, c);
    for (size_t i = 0; i < n; i++)
        if (v[i] < 0)
            return rung_fail(err, RUNG_E_USAGE, "%s: a dimension of %lld is negative", f->name,
                             (long long)v[i]);
    enum rung_status s = f->shape(v, n, c, err);
    if (!s)
        f->set_ld(c, 0);
    return s;
}

void rung_case_from_edge(const struct rung_family *f, const struct rung_edge *e,
                         struct rung_case *c)
{
    case_defaults(f, c);
    memcpy(c->dim, e->dim, sizeof c->dim);
    c->offset = e->offset;
    c->alpha = e->alpha;
    c->beta = e->beta;
    if (e->eps_zero)
        c->eps = 0.0f;
    f->set_ld(c, e->pad);
}

void rung_case_label(const struct rung_case *c, char *out, size_t cap)
{
    const struct rung_family *f = rung_family_find(c->family);
    struct rung_case packed = *c;
    size_t used = 0;

    if (cap)
        out[0] = '\0';
#define ADD(...)                                                                            \
    do {                                                                                    \
        if (used < cap)                                                                     \
            used += (size_t)snprintf(out + used, cap - used, __VA_ARGS__);                  \
    } while (0)
    for (uint32_t i = 0; i < f->n_dims; i++)
        ADD("%s%lld", i ? "x" : "", (long long)c->dim[i]);
    f->set_ld(&packed, 0);
    if (memcmp(packed.ld, c->ld, sizeof c->ld)) {
        struct rung_operand probe[RUNG_MAX_OPERANDS];
        const uint32_t n = f->operands(c, probe);
        bool same = true;
        for (size_t i = 1; i < RUNG_MAX_OPERANDS; i++)
            same = same && (packed.ld[i] == 0 || c->ld[i] - packed.ld[i] == c->ld[0] - packed.ld[0]);
        if (same)
            ADD(" ld+%lld", (long long)(c->ld[0] - packed.ld[0]));
        else
            for (uint32_t i = 0; i < n; i++)
                if (!(f->vectors >> i & 1))
                    ADD("%s%lld", i ? "," : " ld ", (long long)c->ld[i]);
    }
    if (c->offset)
        ADD(" offset %lld", (long long)c->offset);
    if (c->alpha != 1.0f)
        ADD(" alpha %g", (double)c->alpha);
    if (c->beta != 0.0f)
        ADD(" beta %g", (double)c->beta);
    if (c->eps != 1e-6f)
        ADD(" eps %g", (double)c->eps);
#undef ADD
}
