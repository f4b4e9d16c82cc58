#include "registry.h"

#include "device.h"
#include "family.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_NEEDS                                                                         \
    ((uint64_t)(RUNG_NEED_INLINE_PTX | RUNG_NEED_TMA | RUNG_NEED_CLUSTERS |                 \
                RUNG_NEED_TENSOR_CORES | RUNG_NEED_CUDA_LIBRARY))

const char *rung_load_outcome_name(enum rung_load_outcome o)
{
    static const char *const name[] = {"ok",        "cannot open", "no symbol",
                                       "abi mismatch", "bad field",   "duplicate",
                                       "missing capability", "not found"};
    return name[o];
}

static struct rung_registered *grow(struct rung_registry *reg, const char *origin,
                                    struct rung_err *err)
{
    if (reg->n == reg->cap) {
        size_t cap = reg->cap ? reg->cap * 2 : 32;
        void *p = realloc(reg->item, cap * sizeof *reg->item);
        if (!p) {
            rung_fail(err, RUNG_E_NOMEM, "registry: out of memory");
            return NULL;
        }
        reg->item = p;
        reg->cap = cap;
    }
    struct rung_registered *r = &reg->item[reg->n++];
    memset(r, 0, sizeof *r);
    snprintf(r->origin, sizeof r->origin, "%s", origin);
    return r;
}

enum rung_status rung_registry_reject(struct rung_registry *reg, enum rung_load_outcome outcome,
                                      const char *origin, struct rung_err *err, const char *fmt,
                                      ...)
{
    struct rung_registered *r = grow(reg, origin, err);
    va_list ap;

    if (!r)
        return RUNG_E_NOMEM;
    r->outcome = outcome;
    va_start(ap, fmt);
    vsnprintf(r->why, sizeof r->why, fmt, ap);
    va_end(ap);
    return RUNG_OK;
}

static bool valid_id(const char *s)
{
    if (!s || *s < 'a' || *s > 'z')
        return false;
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9') || *s == '_'))
            return false;
    return true;
}

/* Name of the first field that is not acceptable, NULL if all are. */
static const char *bad_field(const struct rung_plugin *p, const char *id, const char *target)
{
    if (!valid_id(p->id) || strcmp(p->id, id))
        return "id";
    if (!p->target || strcmp(p->target, target))
        return "target";
    if (!p->family || !rung_family_find(p->family))
        return "family";
    if (!p->title || !*p->title)
        return "title";
    if (!p->summary || !*p->summary)
        return "summary";
    if (!p->notes)
        return "notes";
    if (!p->build.compiler || !p->build.arch_list || !p->build.build_type || !p->build.sanitizer)
        return "build";
    if (p->n_entries && !p->entries)
        return "entries";
    for (uint64_t i = 0; i < p->n_entries; i++)
        if (!p->entries[i].name || !*p->entries[i].name)
            return "entries[].name";
    if (p->n_limits && !p->limits)
        return "limits";
    for (uint64_t i = 0; i < p->n_limits; i++)
        if (!p->limits[i].name || !p->limits[i].value)
            return "limits[].name or value";
    if (!p->launch)
        return "launch";
    if (!p->cost)
        return "cost";
    for (size_t i = 0; i < sizeof p->reserved / sizeof p->reserved[0]; i++)
        if (p->reserved[i])
            return "reserved";
    return NULL;
}

enum rung_status rung_registry_add(struct rung_registry *reg, const struct rung_plugin *p,
                                   const char *id, const char *target, const char *origin,
                                   bool bundled, struct rung_err *err)
{
    if (p->abi_major != RUNG_ABI_MAJOR)
        return rung_registry_reject(reg, RUNG_LOAD_ABI_MISMATCH, origin, err,
                                    "built for plugin abi %u.%u, this rung has %u.%u: rebuild it",
                                    p->abi_major, p->abi_minor, RUNG_ABI_MAJOR, RUNG_ABI_MINOR);
    if (p->struct_size < sizeof(struct rung_plugin))
        return rung_registry_reject(
            reg, RUNG_LOAD_ABI_MISMATCH, origin, err,
            "descriptor of %u bytes, plugin abi %u.%u needs at least %zu: rebuild it",
            p->struct_size, RUNG_ABI_MAJOR, RUNG_ABI_MINOR, sizeof(struct rung_plugin));

    const char *field = bad_field(p, id, target);
    if (field)
        return rung_registry_reject(reg, RUNG_LOAD_BAD_FIELD, origin, err,
                                    "field '%s' is missing or wrong", field);
    if (p->needs & ~KNOWN_NEEDS)
        return rung_registry_reject(reg, RUNG_LOAD_MISSING_CAPABILITY, origin, err,
                                    "needs capabilities 0x%llx that this rung does not know",
                                    (unsigned long long)(p->needs & ~KNOWN_NEEDS));
    const struct rung_registered *other = rung_registry_find(reg, p->id, p->target);
    if (other)
        return rung_registry_reject(reg, RUNG_LOAD_DUPLICATE, origin, err,
                                    "%s.%s is already provided by %s", p->id, p->target,
                                    other->origin);
    struct rung_registered *r = grow(reg, origin, err);
    if (!r)
        return RUNG_E_NOMEM;
    r->plugin = p;
    r->bundled = bundled;
    return RUNG_OK;
}

const struct rung_registered *rung_registry_find(const struct rung_registry *reg, const char *id,
                                                 const char *target)
{
    for (size_t i = 0; i < reg->n; i++) {
        const struct rung_plugin *p = reg->item[i].plugin;
        if (p && !strcmp(p->id, id) && !strcmp(p->target, target))
            return &reg->item[i];
    }
    return NULL;
}

const struct rung_registered *rung_registry_any(const struct rung_registry *reg, const char *id)
{
    for (size_t i = 0; i < reg->n; i++)
        if (reg->item[i].plugin && !strcmp(reg->item[i].plugin->id, id))
            return &reg->item[i];
    return NULL;
}

bool rung_registry_lacks(const struct rung_registry *reg, const char *id, const char *target,
                         char *why, size_t cap)
{
    static const char *const need[] = {"inline PTX", "TMA", "clusters", "tensor cores",
                                       "a CUDA library"};
    const struct rung_registered *other = rung_registry_any(reg, id);

    if (!other || rung_registry_find(reg, id, target))
        return false;
    for (size_t i = 0; i < sizeof need / sizeof need[0]; i++)
        if (other->plugin->needs >> i & 1) {
            snprintf(why, cap, "needs %s, which the %s device lacks", need[i], target);
            return true;
        }
    snprintf(why, cap, "built for %s only", other->plugin->target);
    return true;
}

size_t rung_registry_rejected(const struct rung_registry *reg)
{
    size_t n = 0;
    for (size_t i = 0; i < reg->n; i++)
        n += reg->item[i].plugin == NULL;
    return n;
}

static enum rung_status scan_path(struct rung_registry *reg, const char *path,
                                  struct rung_err *err)
{
    char *copy = strdup(path), *save = NULL;
    enum rung_status s = copy ? RUNG_OK : rung_fail(err, RUNG_E_NOMEM, "registry: out of memory");

    for (char *dir = copy ? strtok_r(copy, ":", &save) : NULL; dir && !s;
         dir = strtok_r(NULL, ":", &save))
        s = rung_dso_scan(reg, dir, true, err);
    free(copy);
    return s;
}

static enum rung_status scan_own_directory(struct rung_registry *reg, struct rung_err *err)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

    if (n <= 0)
        return RUNG_OK;
    exe[n] = '\0';
    char *slash = strrchr(exe, '/');
    *slash = '\0';
    return rung_dso_scan(reg, exe, false, err);
}

static enum rung_status note_missing(struct rung_registry *reg, struct rung_err *err)
{
    enum rung_status s = RUNG_OK;
    for (size_t i = 0; rung_expected_modules[i] && !s; i++) {
        char id[128];
        const char *dot = strrchr(rung_expected_modules[i], '.');
        snprintf(id, sizeof id, "%.*s", (int)(dot - rung_expected_modules[i]),
                 rung_expected_modules[i]);
        if (!rung_registry_find(reg, id, dot + 1))
            s = rung_registry_reject(reg, RUNG_LOAD_NOT_FOUND, rung_expected_modules[i], err,
                                     "this build expects rung-%s.so; no directory has a good one",
                                     rung_expected_modules[i]);
    }
    return s;
}

enum rung_status rung_registry_load(struct rung_registry *reg, const char *plugin_path,
                                    struct rung_err *err)
{
    const char *env = getenv("RUNG_PLUGIN_PATH");
    enum rung_status s = RUNG_OK;

    *reg = (struct rung_registry){0};
    for (size_t i = 0; rung_builtin_plugins[i] && !s; i++) {
        const struct rung_plugin *p = rung_builtin_plugins[i];
        s = rung_registry_add(reg, p, p->id, p->target, "bundled", true, err);
    }
    if (!s && plugin_path)
        s = scan_path(reg, plugin_path, err);
    if (!s && env && *env)
        s = scan_path(reg, env, err);
    if (!s)
        s = scan_own_directory(reg, err);
    if (!s && rung_plugindir[0])
        s = rung_dso_scan(reg, rung_plugindir, false, err);
    if (!s)
        s = note_missing(reg, err);
    if (s)
        rung_registry_finish(reg);
    return s;
}

void rung_registry_finish(struct rung_registry *reg)
{
    free(reg->item);
    *reg = (struct rung_registry){0};
}
