/* A family: an operation with its operands, its error bound, its edge cases. */
#ifndef RUNG_FAMILY_H
#define RUNG_FAMILY_H

#include "status.h"

/* One correctness case: a shape, and what is unusual about it. */
struct rung_edge {
    int64_t dim[RUNG_MAX_DIMS];
    int64_t pad;    /* elements added to every leading dimension */
    int64_t offset; /* elements every operand is shifted off its alignment */
    float alpha, beta;
    bool eps_zero;  /* eps of 0 instead of the default */
};

struct rung_family {
    const char *name;
    const char *summary;
    const char *shape_help; /* "N or MxNxK" */
    uint32_t n_dims;
    const char *dim_name[RUNG_MAX_DIMS];
    const char *scalars; /* which it takes: "ab" for alpha and beta, "e" for eps */
    uint32_t vectors;    /* bit i: operand i is one row and has no leading dimension */
    const struct rung_edge *edges;
    size_t n_edges;
    const char *default_shapes;     /* of a ladder on a GPU */
    const char *default_shapes_cpu; /* of a ladder on the cpu device */
    uint32_t output;                /* index of the operand that is written */
    bool memory_bound;              /* held against a copy, and timed out of the cache by default */

    /* Fills dim from 1..n_dims numbers, and packed leading dimensions. */
    enum rung_status (*shape)(const int64_t *v, size_t n, struct rung_case *c,
                              struct rung_err *err);
    void (*set_ld)(struct rung_case *c, int64_t pad);
    /* Roles, dims and strides; data stays NULL. Returns how many. */
    uint32_t (*operands)(const struct rung_case *c, struct rung_operand *out);
    /* May the kernel read this operand at all? */
    bool (*reads)(const struct rung_case *c, uint32_t operand);
    /* factor of the bound: |error| <= factor * 2^-24 * magnitude, elementwise. */
    double (*tolerance)(const struct rung_case *c);
    /* Whole numbers in [-range, range] keep every sum exact in f32; and alpha, beta that do. */
    int32_t (*int_range)(const struct rung_case *c);
    bool exact; /* on whole numbers the result is bitwise the reference; else within the bound */
    /* Special values, a pattern a row: the element of an input; NULL where there are none. */
    float (*special)(const struct rung_case *c, uint32_t operand, int64_t row, int64_t col,
                     float usual);
    /* Id of the kernel that ratios are taken against on a device kind; NULL if none. */
    const char *(*reference_id)(const char *device_kind);
};

extern const struct rung_family rung_family_sgemm, rung_family_rmsnorm, rung_family_softmax;
extern const struct rung_family *const rung_families[]; /* NULL-terminated */

const struct rung_family *rung_family_find(const char *name);

/* A case of this family with alpha 1, beta 0, eps 1e-6 and packed operands. */
enum rung_status rung_case_init(const struct rung_family *f, const int64_t *v, size_t n,
                                struct rung_case *c, struct rung_err *err);
void rung_case_from_edge(const struct rung_family *f, const struct rung_edge *e,
                         struct rung_case *c);
/* "2048x18944x3584", with " ld+3 offset 1 alpha 2 beta -1" for what is not the default. */
void rung_case_label(const struct rung_case *c, char *out, size_t cap);

#endif
