/* rung describe KERNEL [SHAPE] */
#include "device.h"
#include "json.h"
#include "plan.h"
#include "runner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The device a kernel's facts are asked of: what --device says, else its target's first. NULL
 * with the reason in err where none answers; description goes on without it. */
static struct rung_device *open_for(const struct rung_options *o, const struct rung_plugin *p,
                                    struct rung_err *err)
{
    struct rung_device *dev = NULL;
    if (rung_device_open(o->device ? o->device : p->target, true, &dev, NULL, 0, err))
        return NULL;
    return dev;
}

static const char *trait_names(const struct rung_plugin *p, char out[128])
{
    static const char *const name[] = {"deterministic", "graph-capturable", "library-call"};
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < 3; i++)
        if (p->traits >> i & 1)
            used += (size_t)snprintf(out + used, 128 - used, "%s%s", used ? " " : "", name[i]);
    return out;
}

static const char *need_names(const struct rung_plugin *p, char out[128])
{
    static const char *const name[] = {"inline PTX", "TMA", "clusters", "tensor cores",
                                       "a CUDA library"};
    out[0] = '\0';
    if (p->sm_floor)
        snprintf(out, 128, "sm_%u or newer", p->sm_floor);
    for (int i = 0; i < 5; i++)
        if (p->needs >> i & 1)
            snprintf(out + strlen(out), 128 - strlen(out), "%s%s", out[0] ? ", " : "", name[i]);
    return out;
}

static void case_json(json_t *root, const struct rung_plugin *p, const struct rung_case *c,
                      const char *label, const struct rung_cost *cost, const char *refusal)
{
    json_t *e = rung_json_object_in(root, "case");
    json_t *l = rung_json_object_in(e, "ledger");
    rung_json_text(e, "label", label);
    rung_json_text(e, "refused", refusal);
    rung_json_number(e, "flops", cost->flops);
    rung_json_number(e, "bytes", cost->bytes);
    rung_json_number(e, "workspace_bytes",
                     p->workspace_bytes && !refusal ? (double)p->workspace_bytes(c) : 0);
    rung_json_number(l, "gmem_bytes_per_output", cost->ledger.gmem_bytes_per_output);
    rung_json_number(l, "requests_per_fma", cost->ledger.requests_per_fma);
    rung_json_number(l, "smem_loads_per_fma", cost->ledger.smem_loads_per_fma);
    rung_json_number(l, "smem_broadcasts_per_fma", cost->ledger.smem_broadcasts_per_fma);
    rung_json_number(l, "gmem_loads_per_fma", cost->ledger.gmem_loads_per_fma);
    rung_json_number(l, "passes", cost->ledger.passes);
}

static void case_text(const struct rung_plugin *p, const struct rung_case *c, const char *label,
                      const struct rung_cost *cost, const char *refusal)
{
    const struct rung_ledger *l = &cost->ledger;
    printf("\ncase %s\n", label);
    if (refusal) {
        printf("  refused    %s\n", refusal);
        return;
    }
    printf("  work       %.6g FLOP, %.6g bytes at least, %.4g FLOP/byte\n", cost->flops,
           cost->bytes, cost->bytes > 0 ? cost->flops / cost->bytes : 0.0);
    if (p->workspace_bytes && p->workspace_bytes(c))
        printf("  workspace  %zu bytes\n", p->workspace_bytes(c));
    if (p->traits & RUNG_TRAIT_LIBRARY_CALL) {
        printf("  ledger     none: the code is a library's\n");
        return;
    }
    printf("  ledger     %.6g global bytes requested per output\n", l->gmem_bytes_per_output);
    printf("             %.4g memory requests of a warp per FMA of a thread\n",
           l->requests_per_fma);
    printf("             %.4g shared loads per FMA with distinct words, %.4g with a shared word\n",
           l->smem_loads_per_fma, l->smem_broadcasts_per_fma);
    printf("             %.4g global loads per FMA\n", l->gmem_loads_per_fma);
}

static void entries(json_t *root, const struct rung_plugin *p, struct rung_device *dev,
                    const char *no_device)
{
    json_t *list = root ? rung_json_array_in(root, "entries") : NULL;
    if (!root && p->n_entries)
        printf("\nentries%s%s\n", dev ? "" : "    static facts need the device: ",
               dev ? "" : no_device);
    for (uint64_t i = 0; i < p->n_entries; i++) {
        struct rung_entry_facts f;
        struct rung_err err = {RUNG_OK, "the device knows nothing of entries"};
        bool known = dev && dev->ops->entry_facts &&
                     !dev->ops->entry_facts(dev, &p->entries[i], &f, &err);
        if (root) {
            json_t *e = rung_json_append(list);
            rung_json_text(e, "name", p->entries[i].name);
            rung_json_number(e, "registers", known ? f.registers : NAN);
            rung_json_number(e, "local_bytes", known ? (double)f.local_bytes : NAN);
            rung_json_number(e, "static_smem", known ? (double)f.static_smem : NAN);
            rung_json_number(e, "max_threads", known ? f.max_threads : NAN);
            rung_json_number(e, "binary_sm", known ? f.binary_sm : NAN);
        } else if (known) {
            printf("  %-20s %d registers, %lld bytes local (spills), %lld bytes static shared, "
                   "machine code sm_%d\n",
                   p->entries[i].name, f.registers, (long long)f.local_bytes,
                   (long long)f.static_smem, f.binary_sm);
        } else {
            printf("  %-20s %s\n", p->entries[i].name, dev ? err.msg : "");
        }
    }
}

static void head_text(const struct rung_registered *r)
{
    const struct rung_plugin *p = r->plugin;
    char buf[128];

    printf("%s  %s\n\n%s\n\n%s\n\n", p->id, p->title, p->summary, p->notes);
    printf("family     %s\n", p->family);
    printf("device     %s\n", p->target);
    printf("from       %s\n", r->origin);
    printf("built      %s, %s, %s, sanitizer %s\n", p->build.compiler, p->build.arch_list,
           p->build.build_type, p->build.sanitizer);
    if (need_names(p, buf)[0])
        printf("needs      %s\n", buf);
    printf("traits     %s\n", trait_names(p, buf));
    for (uint64_t i = 0; i < p->n_limits; i++)
        printf("%s%s: %s\n", i ? "           " : "limits     ", p->limits[i].name,
               p->limits[i].value);
}

static json_t *head_json(const struct rung_registered *r)
{
    const struct rung_plugin *p = r->plugin;
    json_t *root = json_object();
    char buf[128];

    rung_json_text(root, "id", p->id);
    rung_json_text(root, "title", p->title);
    rung_json_text(root, "summary", p->summary);
    rung_json_text(root, "notes", p->notes);
    rung_json_text(root, "family", p->family);
    rung_json_text(root, "target", p->target);
    rung_json_text(root, "origin", r->origin);
    json_t *b = rung_json_object_in(root, "build");
    rung_json_text(b, "compiler", p->build.compiler);
    rung_json_text(b, "arch_list", p->build.arch_list);
    rung_json_text(b, "build_type", p->build.build_type);
    rung_json_text(b, "sanitizer", p->build.sanitizer);
    rung_json_text(root, "needs", need_names(p, buf));
    rung_json_text(root, "traits", trait_names(p, buf));
    json_t *limits = rung_json_object_in(root, "limits");
    for (uint64_t i = 0; i < p->n_limits; i++)
        rung_json_text(limits, p->limits[i].name, p->limits[i].value);
    return root;
}

int cmd_describe(const struct rung_options *o)
{
    const struct rung_registered *r;
    struct rung_registry reg;
    struct rung_err err, no_device = {RUNG_OK, ""};
    struct rung_case c;
    struct rung_device *dev = NULL;
    char kind[8] = "";

    if (o->n_args == 0) {
        rung_fail(&err, RUNG_E_USAGE, "describe takes a kernel's id; `rung list` shows them");
        return rung_die(&err);
    }
    if (rung_plan_registry(o, &reg, &err))
        return rung_die(&err);
    if (o->device)
        snprintf(kind, sizeof kind, "%.*s", (int)strcspn(o->device, ":"), o->device);
    if (rung_plan_find(&reg, o->arg[0], kind[0] ? kind : NULL, &r, &err))
        goto failed;
    const struct rung_plugin *p = r->plugin;
    const struct rung_family *f = rung_family_find(p->family);
    char fallback[] = "4096", *word = fallback;
    int64_t square[] = {4096, 4096, 4096};
    if (o->n_args > 1 ? rung_plan_case(o, f, o->arg + 1, o->n_args - 1, &c, NULL, &err)
        : f->n_dims == 3
            ? rung_plan_case(o, f, &word, 1, &c, NULL, &err)
            : rung_case_init(f, square, f->n_dims, &c, &err))
        goto failed;

    dev = open_for(o, p, &no_device);
    char refusal[RUNG_REASON_MAX] = "", label[160];
    struct rung_cost cost = {0};
    c.sm = dev ? dev->info.sm : 0;
    c.sm_count = dev ? dev->info.sm_count : 0;
    bool accepted = !p->accepts || p->accepts(&c, refusal, sizeof refusal);
    if (accepted)
        p->cost(&c, &cost);
    rung_case_label(&c, label, sizeof label);
    if (o->json) {
        json_t *root = head_json(r);
        case_json(root, p, &c, label, &cost, accepted ? NULL : refusal);
        entries(root, p, dev, no_device.msg);
        rung_json_print(root);
    } else {
        head_text(r);
        case_text(p, &c, label, &cost, accepted ? NULL : refusal);
        entries(NULL, p, dev, no_device.msg);
    }
    rung_device_close(dev);
    rung_registry_finish(&reg);
    return RUNG_EXIT_OK;

failed:
    rung_registry_finish(&reg);
    return rung_die(&err);
}
