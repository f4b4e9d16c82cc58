/* The kit for operands in host memory. Plain loops: the emulated and CPU shapes are small,
 * and the reference shares no code with the libraries it judges. */
#include "compare.h"
#include "family_rows.h"
#include "device.h"

#include <stdlib.h>
#include <string.h>

static enum rung_status host_fill(struct rung_device *dev, struct rung_view v, struct rung_fill f,
                                  struct rung_err *err)
{
    (void)dev, (void)err;
    for (int64_t i = 0; i < v.rows; i++) {
        uint32_t *row = (uint32_t *)v.data + i * v.ld;
        for (int64_t j = 0; j < v.cols; j++)
            row[j] = rung_fill_value(f, (uint64_t)(i * v.cols + j));
    }
    return RUNG_OK;
}

static enum rung_status host_compare(struct rung_device *dev, struct rung_view got,
                                     struct rung_ref ref, struct rung_tolerance tol,
                                     struct rung_compare *out, struct rung_err *err)
{
    (void)dev, (void)err;
    *out = (struct rung_compare){.first = RUNG_NO_INDEX};
    for (int64_t i = 0; i < got.rows; i++) {
        const float *row = (const float *)got.data + i * got.ld;
        for (int64_t j = 0; j < got.cols; j++) {
            const int64_t at = i * got.cols + j;
            const float g = row[j], mag = ref.magnitude[at];
            const double want = ref.value[at];
            const double e = rung_element_error(g, want, mag);
            if (e > out->worst)
                out->worst = e;
            if (rung_element_ok(g, want, mag, tol))
                continue;
            if (!out->wrong++) {
                out->first = (uint64_t)at;
                out->got = g;
                out->want = want;
                out->allowed = rung_allowed(tol, mag);
            }
            out->nan += isnan(g) != 0;
            out->unwritten += rung_float_bits(g) == RUNG_POISON_BITS;
        }
    }
    return RUNG_OK;
}

static enum rung_status host_checksum(struct rung_device *dev, struct rung_view v, uint64_t *out,
                                      struct rung_err *err)
{
    uint64_t sum = 0;
    (void)dev, (void)err;
    for (int64_t i = 0; i < v.rows; i++) {
        const float *row = (const float *)v.data + i * v.ld;
        for (int64_t j = 0; j < v.cols; j++)
            sum += rung_checksum_word((uint64_t)(i * v.cols + j), rung_float_bits(row[j]));
    }
    *out = sum;
    return RUNG_OK;
}

static enum rung_status host_scan(struct rung_device *dev, struct rung_view v, uint32_t bits,
                                  uint64_t *bad, uint64_t *first, struct rung_err *err)
{
    (void)dev, (void)err;
    *bad = 0;
    *first = RUNG_NO_INDEX;
    for (int64_t i = 0; i < v.rows; i++) {
        const uint32_t *row = (const uint32_t *)v.data + i * v.ld;
        for (int64_t j = 0; j < v.cols; j++)
            if (row[j] != bits && !(*bad)++)
                *first = (uint64_t)(i * v.ld + j);
    }
    return RUNG_OK;
}

/* C = alpha A B + beta C0 in fp64 and |alpha| |A||B| + |beta| |C0|. Row i of both is built
 * from whole rows of B, so that the inner loop runs along memory. */
static enum rung_status sgemm_reference(const struct rung_case *c, const struct rung_set *set,
                                        const float *c0, int64_t row0, int64_t rows,
                                        struct rung_ref out, struct rung_err *err)
{
    const int64_t n = c->dim[1], k = c->alpha == 0.0f ? 0 : c->dim[2];
    const float *a = set->operand[0].data, *b = set->operand[1].data;
    double *mag = malloc(sizeof *mag * (size_t)(n ? n : 1));

    if (!mag)
        return rung_fail(err, RUNG_E_NOMEM, "sgemm reference: out of memory");
    for (int64_t i = 0; i < rows; i++) {
        double *value = out.value + i * n;
        memset(value, 0, sizeof *value * (size_t)n);
        memset(mag, 0, sizeof *mag * (size_t)n);
        for (int64_t p = 0; p < k; p++) {
            const double x = (double)a[(row0 + i) * c->ld[0] + p], x_abs = fabs(x);
            const float *brow = b + p * c->ld[1];
            for (int64_t j = 0; j < n; j++) {
                value[j] += x * (double)brow[j];
                mag[j] += x_abs * fabs((double)brow[j]);
            }
        }
        for (int64_t j = 0; j < n; j++) {
            const double old = c->beta != 0.0f ? (double)c0[(row0 + i) * n + j] : 0.0;
            value[j] = (k ? (double)c->alpha * value[j] : 0.0) + (double)c->beta * old;
            out.magnitude[i * n + j] = (float)((k ? fabs((double)c->alpha) * mag[j] : 0.0) +
                                               fabs((double)c->beta * old));
        }
    }
    free(mag);
    return RUNG_OK;
}

static enum rung_status host_reference(struct rung_device *dev, const struct rung_case *c,
                                       const struct rung_set *set, const float *c0, int64_t row0,
                                       int64_t rows, struct rung_ref out, struct rung_err *err)
{
    (void)dev;
    if (!strcmp(c->family, "sgemm"))
        return sgemm_reference(c, set, c0, row0, rows, out, err);
    if (!strcmp(c->family, "rmsnorm")) {
        rung_rmsnorm_reference(c, set, row0, rows, out);
        return RUNG_OK;
    }
    if (!strcmp(c->family, "softmax")) {
        rung_softmax_reference(c, set, row0, rows, out);
        return RUNG_OK;
    }
    return rung_fail(err, RUNG_E_UNAVAILABLE, "no host reference for family %s", c->family);
}

const struct rung_kit rung_kit_host = {
    .fill = host_fill,
    .compare = host_compare,
    .checksum = host_checksum,
    .scan = host_scan,
    .reference = host_reference,
};
