/*
 * The kit: data-parallel services that verification needs where the operands live.
 * One implementation for host memory (cpu, emu), one for a GPU. Every function waits
 * until its result is there.
 */
#ifndef RUNG_KIT_H
#define RUNG_KIT_H

#include "fill.h"
#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rung_device;

/* A row-major matrix of f32 words in device memory; ld in elements, ld >= cols. */
struct rung_view {
    void *data;
    int64_t rows, cols, ld;
};

/* An fp64 result and the magnitude that scales its error bound, both dense rows x cols. */
struct rung_ref {
    double *value;
    float *magnitude;
};

/* How `got` is held against a reference: exactly, or within factor * 2^-24 * magnitude. */
struct rung_tolerance {
    bool exact;
    double factor;
};

#define RUNG_NO_INDEX UINT64_MAX

/* What a comparison found. Indices are row * cols + col of the view. */
struct rung_compare {
    uint64_t wrong;     /* elements outside the tolerance, NaN included */
    uint64_t nan;       /* of these: NaN where the reference is not */
    uint64_t unwritten; /* of these: still poison, bit for bit */
    uint64_t first;     /* lowest wrong index; RUNG_NO_INDEX if none */
    double worst;       /* largest |got - ref| / (2^-24 * magnitude) of all elements */
    float got;          /* at `first` */
    double want;        /* at `first` */
    double allowed;     /* at `first`: the largest error allowed */
};

struct rung_kit {
    enum rung_status (*fill)(struct rung_device *dev, struct rung_view v, struct rung_fill f,
                             struct rung_err *err);
    enum rung_status (*compare)(struct rung_device *dev, struct rung_view got,
                                struct rung_ref ref, struct rung_tolerance tol,
                                struct rung_compare *out, struct rung_err *err);
    /* Over the elements of the view, padding left out. */
    enum rung_status (*checksum)(struct rung_device *dev, struct rung_view v, uint64_t *out,
                                 struct rung_err *err);
    /* Counts words that differ from `bits`; *first is the lowest offset in words from
     * v.data, RUNG_NO_INDEX if none. */
    enum rung_status (*scan)(struct rung_device *dev, struct rung_view v, uint32_t bits,
                             uint64_t *bad, uint64_t *first, struct rung_err *err);
    /* Rows [row0, row0 + rows) of a family's fp64 reference. `c0` is the content of an
     * in-out operand before the launch, dense; NULL where there is none. Returns
     * RUNG_E_UNAVAILABLE for a family it does not know. */
    enum rung_status (*reference)(struct rung_device *dev, const struct rung_case *c,
                                  const struct rung_set *set, const float *c0, int64_t row0,
                                  int64_t rows, struct rung_ref out, struct rung_err *err);
};

extern const struct rung_kit rung_kit_host;

#ifdef __cplusplus
}
#endif
#endif
