#include "family_rows.h"

#include <string.h>

/* Row lengths around every width that a thread, a warp or a block may hold, and two that no
 * register file does; then rows beyond a grid's 65535, strides, an offset, nothing at all. */
const struct rung_edge rung_row_edges[RUNG_N_ROW_EDGES] = {
    {{1, 1, 0, 0}, 0, 0, 1, 0, false},        {{3, 31, 0, 0}, 0, 0, 1, 0, false},
    {{2, 33, 0, 0}, 0, 0, 1, 0, false},       {{9, 128, 0, 0}, 0, 0, 1, 0, false},
    {{5, 769, 0, 0}, 0, 0, 1, 0, false},      {{10, 1000, 0, 0}, 0, 0, 1, 0, false},
    {{2, 1023, 0, 0}, 0, 0, 1, 0, false},     {{2, 1025, 0, 0}, 0, 0, 1, 0, false},
    {{3, 2047, 0, 0}, 0, 0, 1, 0, false},     {{10, 2048, 0, 0}, 0, 0, 1, 0, false},
    {{1, 2049, 0, 0}, 0, 0, 1, 0, false},     {{10, 3584, 0, 0}, 0, 0, 1, 0, false},
    {{2, 8192, 0, 0}, 0, 0, 1, 0, false},     {{2, 8193, 0, 0}, 0, 0, 1, 0, false},
    {{1, 102400, 0, 0}, 0, 0, 1, 0, false},   {{2, 152064, 0, 0}, 0, 0, 1, 0, false},
    {{66000, 8, 0, 0}, 0, 0, 1, 0, false},    {{0, 64, 0, 0}, 0, 0, 1, 0, false},
    {{64, 0, 0, 0}, 0, 0, 1, 0, false},       {{33, 96, 0, 0}, 3, 0, 1, 0, false},
    {{10, 200, 0, 0}, 4, 0, 1, 0, false},     {{17, 1024, 0, 0}, 0, 1, 1, 0, false},
    {{10, 512, 0, 0}, 0, 0, 1, 0, true},
};

enum rung_status rung_rows_shape(const int64_t *v, size_t n, struct rung_case *c,
                                 struct rung_err *err)
{
    if (n != 2)
        return rung_fail(err, RUNG_E_USAGE, "%s takes ROWS COLS, not %zu numbers", c->family, n);
    c->dim[0] = v[0];
    c->dim[1] = v[1];
    return RUNG_OK;
}

int32_t rung_rows_int_range(const struct rung_case *c)
{
    (void)c;
    return 8;
}

void rung_rows_operand(struct rung_operand *out, const char *name, enum rung_role role,
                       int64_t rows, int64_t cols, int64_t ld)
{
    memset(out, 0, sizeof *out);
    out->name = name;
    out->role = role;
    out->dtype = RUNG_F32;
    out->n_dims = 2;
    out->dim[0] = rows;
    out->dim[1] = cols;
    out->dim[2] = out->dim[3] = 1;
    out->stride[0] = ld;
    out->stride[1] = 1;
}
