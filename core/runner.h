/*
 * The runner: one kernel on one bed. Prepare, launch, check, finish.
 * It knows neither the command line nor files.
 */
#ifndef RUNG_RUNNER_H
#define RUNG_RUNNER_H

#include "bed.h"

struct rung_session;

/* Can this kernel run this case on this device at all? RUNG_OK, RUNG_E_REFUSED (the kernel
 * says no to the case) or RUNG_E_UNAVAILABLE (the device lacks what it needs). */
enum rung_status rung_can_run(const struct rung_plugin *p, const struct rung_device *dev,
                              const struct rung_case *c, struct rung_err *err);

/* Allocates guarded workspaces and calls prepare. The bed must outlive the session. */
enum rung_status rung_session_open(struct rung_bed *bed, const struct rung_plugin *p,
                                   struct rung_session **out, struct rung_err *err);
void rung_session_close(struct rung_session *s);

const struct rung_plugin *rung_session_plugin(const struct rung_session *s);
/* The i-th fact the plugin noted, or false. */
bool rung_session_note(const struct rung_session *s, size_t i, const char **key,
                       const char **value);

/* Enqueues one launch on set `set`. */
enum rung_status rung_session_launch(struct rung_session *s, uint32_t set, struct rung_err *err);

/* The same for who knows only a context: `ctx` is the session. */
enum rung_status rung_session_task(void *ctx, uint32_t set, struct rung_err *err);

/* Loads data, launches once on `set` and checks everything. A kernel that is wrong or fails
 * is a verdict, and RUNG_OK is returned; an error means that the check itself failed. */
enum rung_status rung_session_verify(struct rung_session *s, enum rung_dataset data,
                                     uint64_t seed, uint32_t set, struct rung_verdict *out,
                                     struct rung_err *err);
/* All data sets of the family; stops at the first fault. */
enum rung_status rung_session_verify_all(struct rung_session *s, uint64_t seed, uint32_t set,
                                         struct rung_verdict *out, struct rung_err *err);

#endif
