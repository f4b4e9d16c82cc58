/* rung list */
#include "json.h"
#include "plan.h"
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool shown(const struct rung_options *o, const struct rung_plugin *p)
{
    if (o->family && strcmp(o->family, p->family))
        return false;
    const size_t kind = o->device ? strcspn(o->device, ":") : 0;
    return !o->device || (strlen(p->target) == kind && !strncmp(o->device, p->target, kind));
}

static int by_family_id(const void *a, const void *b)
{
    const struct rung_registered *x = a, *y = b;
    if (!x->plugin || !y->plugin)
        return (x->plugin == NULL) - (y->plugin == NULL);
    int d = strcmp(x->plugin->family, y->plugin->family);
    d = d ? d : strverscmp(x->plugin->id, y->plugin->id);
    return d ? d : strcmp(x->plugin->target, y->plugin->target);
}

static void print_json(const struct rung_options *o, const struct rung_registry *reg)
{
    json_t *root = json_object();
    json_t *kernels = rung_json_array_in(root, "kernels");
    json_t *rejected = rung_json_array_in(root, "rejected");

    for (size_t i = 0; i < reg->n; i++) {
        const struct rung_registered *r = &reg->item[i];
        const struct rung_plugin *p = r->plugin;
        if (p && !shown(o, p))
            continue;
        json_t *e = rung_json_append(p ? kernels : rejected);
        if (p) {
            rung_json_text(e, "id", p->id);
            rung_json_text(e, "family", p->family);
            rung_json_text(e, "target", p->target);
            rung_json_text(e, "title", p->title);
            rung_json_text(e, "summary", p->summary);
            rung_json_bool(e, "bundled", r->bundled);
        } else {
            rung_json_text(e, "outcome", rung_load_outcome_name(r->outcome));
            rung_json_text(e, "why", r->why);
        }
        rung_json_text(e, "origin", r->origin);
    }
    rung_json_print(root);
}

/* With --device emu, the CUDA kernels that it cannot run, and why. */
static void print_lacking(const struct rung_options *o, const struct rung_registry *reg,
                          struct rung_table *t)
{
    char why[128];
    for (size_t i = 0; i < reg->n; i++) {
        const struct rung_plugin *p = reg->item[i].plugin;
        if (!p || !o->device || strcmp(o->device, "emu") || strcmp(p->target, "cuda") ||
            (o->family && strcmp(o->family, p->family)) ||
            !rung_registry_lacks(reg, p->id, o->device, why, sizeof why))
            continue;
        rung_table_cell(t, "%s", p->id);
        rung_table_cell(t, "%s", p->family);
        rung_table_cell(t, "—");
        rung_table_cell(t, "%s", p->title);
        rung_table_cell(t, "skipped: %s", why);
    }
}

static void print_text(const struct rung_options *o, const struct rung_registry *reg)
{
    static const char *const heading[] = {"kernel", "family", "device", "title", "from"};
    struct rung_table *t = rung_table_create(heading, 5);

    for (size_t i = 0; i < reg->n; i++) {
        const struct rung_plugin *p = reg->item[i].plugin;
        if (!p || !shown(o, p))
            continue;
        rung_table_cell(t, "%s", p->id);
        rung_table_cell(t, "%s", p->family);
        rung_table_cell(t, "%s", p->target);
        rung_table_cell(t, "%s", p->title);
        rung_table_cell(t, "%s", reg->item[i].origin);
    }
    print_lacking(o, reg, t);
    rung_table_print(t);
    rung_table_destroy(t);
    if (rung_registry_rejected(reg))
        printf("\nturned down:\n");
    for (size_t i = 0; i < reg->n; i++)
        if (!reg->item[i].plugin)
            printf("  %s: %s: %s\n", reg->item[i].origin,
                   rung_load_outcome_name(reg->item[i].outcome), reg->item[i].why);
}

int cmd_list(const struct rung_options *o)
{
    struct rung_registry reg;
    struct rung_err err;
    int code = RUNG_EXIT_OK;

    if (o->n_args) {
        rung_fail(&err, RUNG_E_USAGE, "list takes no arguments; to filter, --family and --device");
        return rung_die(&err);
    }
    if (rung_plan_registry(o, &reg, &err))
        return rung_die(&err);
    if (o->family && !rung_family_find(o->family)) {
        rung_registry_finish(&reg);
        rung_fail(&err, RUNG_E_USAGE, "--family '%s': no such family", o->family);
        return rung_die(&err);
    }
    qsort(reg.item, reg.n, sizeof *reg.item, by_family_id);
    if (o->json)
        print_json(o, &reg);
    else
        print_text(o, &reg);
    for (size_t i = 0; i < reg.n; i++)
        if (reg.item[i].outcome == RUNG_LOAD_NOT_FOUND)
            code = RUNG_EXIT_FAILURE;
    rung_registry_finish(&reg);
    return code;
}
