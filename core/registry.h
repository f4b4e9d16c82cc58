/* The registration table: every plugin this process knows, where each came from, and
 * every file that was turned down, with the reason. Filled once, then frozen. */
#ifndef RUNG_REGISTRY_H
#define RUNG_REGISTRY_H

#include "status.h"

enum rung_load_outcome {
    RUNG_LOAD_OK,
    RUNG_LOAD_CANNOT_OPEN,
    RUNG_LOAD_NO_SYMBOL,
    RUNG_LOAD_ABI_MISMATCH,
    RUNG_LOAD_BAD_FIELD,
    RUNG_LOAD_DUPLICATE,
    RUNG_LOAD_MISSING_CAPABILITY,
    RUNG_LOAD_NOT_FOUND /* this build expects a module that no directory holds */
};

struct rung_registered {
    const struct rung_plugin *plugin; /* NULL when turned down */
    enum rung_load_outcome outcome;
    bool bundled;
    char origin[512]; /* path of the module, or "bundled" */
    char why[512];    /* when turned down */
};

struct rung_registry {
    struct rung_registered *item;
    size_t n, cap;
};

/* Tables that the build generates (builtin.c.in). */
extern const struct rung_plugin *const rung_builtin_plugins[]; /* NULL-terminated */
extern const char *const rung_expected_modules[];              /* "k3.cuda", NULL-terminated */
extern const char rung_plugindir[];                            /* compiled-in directory */

/*
 * Bundled plugins first, then the directories of `plugin_path` (may be NULL), of
 * RUNG_PLUGIN_PATH, the executable's own and the compiled-in one. Directories in a path are
 * separated by colons; one that is named explicitly and does not exist is an error, a bad
 * file in one is not: it is listed with its reason.
 */
enum rung_status rung_registry_load(struct rung_registry *reg, const char *plugin_path,
                                    struct rung_err *err);
void rung_registry_finish(struct rung_registry *reg);

/* NULL if there is none. */
const struct rung_registered *rung_registry_find(const struct rung_registry *reg, const char *id,
                                                 const char *target);
/* A plugin of that id for any target; NULL if there is none. */
const struct rung_registered *rung_registry_any(const struct rung_registry *reg, const char *id);
/* Is `id` there for another target only? Then `why` says what the device `target` lacks for it. */
bool rung_registry_lacks(const struct rung_registry *reg, const char *id, const char *target,
                         char *why, size_t cap);
size_t rung_registry_rejected(const struct rung_registry *reg);
const char *rung_load_outcome_name(enum rung_load_outcome o);

/* Used by dso.c: checks a descriptor and adds it, or adds the refusal. */
enum rung_status rung_registry_add(struct rung_registry *reg, const struct rung_plugin *p,
                                   const char *id, const char *target, const char *origin,
                                   bool bundled, struct rung_err *err);
enum rung_status rung_registry_reject(struct rung_registry *reg, enum rung_load_outcome outcome,
                                      const char *origin, struct rung_err *err, const char *fmt,
                                      ...) __attribute__((format(printf, 5, 6)));
/* Used by registry.c: scans one directory for rung-*.<target>.so. */
enum rung_status rung_dso_scan(struct rung_registry *reg, const char *dir, bool must_exist,
                               struct rung_err *err);

#endif
