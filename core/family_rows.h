/* What the two row families share: shapes, edges, numbers of their bounds. */
#ifndef RUNG_FAMILY_ROWS_H
#define RUNG_FAMILY_ROWS_H

#include "family.h"
#include "kit.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RUNG_N_ROW_EDGES 23
extern const struct rung_edge rung_row_edges[RUNG_N_ROW_EDGES];

enum rung_status rung_rows_shape(const int64_t *v, size_t n, struct rung_case *c,
                                 struct rung_err *err);
int32_t rung_rows_int_range(const struct rung_case *c);
/* A row-major operand of the case. */
void rung_rows_operand(struct rung_operand *out, const char *name, enum rung_role role,
                       int64_t rows, int64_t cols, int64_t ld);

/* fp64 references on the host, row by row. */
void rung_rmsnorm_reference(const struct rung_case *c, const struct rung_set *set, int64_t row0,
                            int64_t rows, struct rung_ref out);
void rung_softmax_reference(const struct rung_case *c, const struct rung_set *set, int64_t row0,
                            int64_t rows, struct rung_ref out);

/* Added to every magnitude: an error of the smallest normal number is no error. */
#define RUNG_ROWS_TINY 1.9721522630525295e-31 /* 2^-102 */

#ifdef __cplusplus
}
#endif
#endif
