/* From options to an immutable plan: which kernels, which cases, on what. All validation
 * ends here; what runs afterwards never looks at argv. */
#ifndef RUNG_PLAN_H
#define RUNG_PLAN_H

#include "family.h"
#include "options.h"
#include "registry.h"

struct rung_plan {
    const struct rung_family *family;
    const struct rung_plugin **kernel; /* in ladder order, the reference first if present */
    size_t n_kernels;
    struct rung_case *cases;
    size_t n_cases;
};

/* Loads the registry as the options say; --strict fails on any refusal. */
enum rung_status rung_plan_registry(const struct rung_options *o, struct rung_registry *reg,
                                    struct rung_err *err);

/* Kernels of `target` named by the arguments (a family's name means all of it). */
enum rung_status rung_plan_kernels(const struct rung_options *o, const struct rung_registry *reg,
                                   const char *target, struct rung_plan *plan,
                                   struct rung_err *err);
/* Cases from --shapes or, where it is not given, from `fallback`, both lists of shapes and of
 * names of sets; scalars, ld and offset
 * from the options. */
enum rung_status rung_plan_cases(const struct rung_options *o, const char *fallback,
                                 struct rung_plan *plan, struct rung_err *err);
void rung_plan_finish(struct rung_plan *plan);

/* One case from numbers ("4096" or "2048" "18944" "3584" or "2048x18944x3584"); a further
 * number is *reps. */
enum rung_status rung_plan_case(const struct rung_options *o, const struct rung_family *f,
                                char **word, int n_words, struct rung_case *c, int *reps,
                                struct rung_err *err);

/* Any plugin with this id: of `target` if given, else cuda, emu, cpu in this order. */
enum rung_status rung_plan_find(const struct rung_registry *reg, const char *id,
                                const char *target, const struct rung_registered **out,
                                struct rung_err *err);

#endif
