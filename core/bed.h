/*
 * The test bed: the operands of one case on one device, shared by every kernel that is
 * tried on it, with guards around them, known contents, and the fp64 reference.
 *
 * Layout of one operand: [guard | rows with padding | guard]. Guards and padding hold
 * canary words, which are NaN: reading them shows in the result, writing them is found by
 * a scan. An output holds poison words before a launch.
 */
#ifndef RUNG_BED_H
#define RUNG_BED_H

#include "device.h"
#include "family.h"

/* Contents of the inputs. */
enum rung_dataset {
    RUNG_DATA_INTS,  /* small whole numbers: the result must be exact where the family can be */
    RUNG_DATA_FLOATS, /* uniform floats: the result must be within the bound */
    RUNG_DATA_SPECIAL /* the family's special values among them: infinities, NaN, extremes */
};

enum rung_fault {
    RUNG_FAULT_NONE,
    RUNG_FAULT_OUT_OF_BOUNDS, /* a guard was written */
    RUNG_FAULT_PADDING,       /* the space between rows was written */
    RUNG_FAULT_INPUT_CHANGED,
    RUNG_FAULT_UNWRITTEN,     /* output elements were left as they were poisoned */
    RUNG_FAULT_NAN,
    RUNG_FAULT_WRONG_VALUE,
    RUNG_FAULT_CAUGHT,        /* a checking device caught a race, a bad access, a barrier */
    RUNG_FAULT_DEVICE         /* the launch or the kernel failed */
};

/* What verification came to. */
struct rung_verdict {
    enum rung_fault fault;
    char what[400];   /* one line, empty when nothing is wrong */
    double worst;     /* floats: largest error in units of 2^-24 * magnitude */
    double factor;    /* floats: what is allowed */
    uint64_t checked; /* elements compared */
};

/* Device memory with a guard on both sides. */
struct rung_guarded {
    void *base, *data;
    size_t front, payload, back; /* bytes */
    const char *name;
};

struct rung_bed;

enum rung_status rung_bed_create(struct rung_device *dev, const struct rung_case *c,
                                 uint32_t n_sets, struct rung_bed **out, struct rung_err *err);
void rung_bed_destroy(struct rung_bed *bed);

struct rung_device *rung_bed_device(const struct rung_bed *bed);
const struct rung_case *rung_bed_case(const struct rung_bed *bed);
const struct rung_set *rung_bed_sets(const struct rung_bed *bed, uint32_t *n);

/* Fills the inputs of every set alike, resets the outputs, computes the reference unless
 * it is known for this data and seed. */
enum rung_status rung_bed_load(struct rung_bed *bed, enum rung_dataset data, uint64_t seed,
                               struct rung_err *err);
/* Poisons a set's output, or restores the content that beta * C reads. */
enum rung_status rung_bed_reset(struct rung_bed *bed, uint32_t set, struct rung_err *err);
/* Every element, guard, padding and input of a set, against what was loaded. Fails only when
 * it cannot be found out; a wrong kernel is a verdict. */
enum rung_status rung_bed_check(struct rung_bed *bed, uint32_t set, struct rung_verdict *out,
                                struct rung_err *err);

/* Guarded memory, also for workspaces. `offset` bytes shift data off its 256-byte alignment. */
enum rung_status rung_guarded_alloc(struct rung_device *dev, const char *name, size_t payload,
                                    size_t offset, struct rung_guarded *out,
                                    struct rung_err *err);
void rung_guarded_free(struct rung_device *dev, struct rung_guarded *g);
/* Sets the fault and its line if a guard was written. */
enum rung_status rung_guarded_check(struct rung_device *dev, const struct rung_guarded *g,
                                    struct rung_verdict *v, struct rung_err *err);

const char *rung_fault_name(enum rung_fault f);

#endif
