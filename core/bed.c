#include "bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A reference already computed, kept while data and seed stay the same. */
struct known_ref {
    bool valid;
    enum rung_dataset data;
    uint64_t seed;
    struct rung_ref ref;
};

struct rung_bed {
    struct rung_device *dev;
    const struct rung_family *family;
    struct rung_case c;
    uint32_t n_sets, n_operands;
    struct rung_set *set;
    struct rung_guarded *mem; /* n_sets x n_operands */
    struct rung_guarded c0;   /* what an in-out operand held, dense */

    struct known_ref known[2]; /* whole reference, one slot a dataset; or one shared tile */
    int64_t tile_rows;         /* rows of a slot; all of them unless memory is short */

    enum rung_dataset data;
    uint64_t seed;
    uint64_t input_sum[RUNG_MAX_OPERANDS];
};

static struct rung_view operand_view(const struct rung_operand *o)
{
    return (struct rung_view){o->data, o->dim[0], o->dim[1], o->stride[0]};
}

static bool is_empty(const struct rung_operand *o)
{
    return o->dim[0] == 0 || o->dim[1] == 0;
}

static enum rung_status alloc_set(struct rung_bed *bed, uint32_t index, struct rung_err *err)
{
    struct rung_set *set = &bed->set[index];

    set->index = index;
    set->n_operands = bed->family->operands(&bed->c, set->operand);
    for (uint32_t i = 0; i < set->n_operands; i++) {
        struct rung_operand *o = &set->operand[i];
        struct rung_guarded *g = &bed->mem[index * bed->n_operands + i];
        const int64_t words = is_empty(o) ? 0 : (o->dim[0] - 1) * o->stride[0] + o->dim[1];
        enum rung_status s = rung_guarded_alloc(bed->dev, o->name, (size_t)words * 4,
                                                (size_t)bed->c.offset * 4, g, err);
        if (s)
            return s;
        o->data = g->data;
        o->align = bed->c.offset % 64 == 0 ? 256 : (uint32_t)(4 * (bed->c.offset & -bed->c.offset));
    }
    return RUNG_OK;
}

/* Whole references when they take at most a third of what is free, else tiles of rows. */
static enum rung_status alloc_refs(struct rung_bed *bed, struct rung_err *err)
{
    const struct rung_operand *o = &bed->set[0].operand[bed->family->output];
    const uint64_t row = (uint64_t)(o->dim[1] ? o->dim[1] : 1) * 12;
    const uint64_t rows = o->dim[0] ? (uint64_t)o->dim[0] : 1;
    const uint64_t budget = bed->dev->ops->mem_free(bed->dev) / 3;
    int slots = 2;

    bed->tile_rows = (int64_t)rows;
    if (2 * rows * row > budget) {
        slots = 1;
        uint64_t fit = budget / row;
        if (fit < rows)
            bed->tile_rows = (int64_t)(fit ? fit : 1);
    }
    for (int i = 0; i < slots; i++) {
        const size_t n = (size_t)bed->tile_rows * (size_t)(row / 12);
        void *value, *magnitude;
        enum rung_status s = bed->dev->ops->alloc(bed->dev, n * 8, &value, err);
        if (s)
            return s;
        bed->known[i].ref.value = value;
        s = bed->dev->ops->alloc(bed->dev, n * 4, &magnitude, err);
        if (s)
            return s;
        bed->known[i].ref.magnitude = magnitude;
    }
    return RUNG_OK;
}

enum rung_status rung_bed_create(struct rung_device *dev, const struct rung_case *c,
                                 uint32_t n_sets, struct rung_bed **out, struct rung_err *err)
{
    struct rung_bed *bed = calloc(1, sizeof *bed);
    enum rung_status s = RUNG_E_NOMEM;
    struct rung_operand probe[RUNG_MAX_OPERANDS];

    if (!bed)
        return rung_fail(err, RUNG_E_NOMEM, "test bed: out of memory");
    bed->dev = dev;
    bed->family = rung_family_find(c->family);
    bed->c = *c;
    bed->c.sm = dev->info.sm;
    bed->c.sm_count = dev->info.sm_count;
    bed->n_sets = n_sets;
    bed->n_operands = bed->family->operands(c, probe);
    bed->set = calloc(n_sets, sizeof *bed->set);
    bed->mem = calloc((size_t)n_sets * bed->n_operands, sizeof *bed->mem);
    if (!bed->set || !bed->mem) {
        rung_fail(err, RUNG_E_NOMEM, "test bed: out of memory");
        goto undo_bed;
    }
    for (uint32_t i = 0; i < n_sets; i++)
        if ((s = alloc_set(bed, i, err)))
            goto undo_bed;
    const struct rung_operand *o = &bed->set[0].operand[bed->family->output];
    if (o->role == RUNG_INOUT &&
        (s = rung_guarded_alloc(dev, "pristine copy", (size_t)(o->dim[0] * o->dim[1]) * 4, 0,
                                &bed->c0, err)))
        goto undo_bed;
    if ((s = alloc_refs(bed, err)))
        goto undo_bed;
    *out = bed;
    return RUNG_OK;

undo_bed:
    rung_bed_destroy(bed);
    return s;
}

void rung_bed_destroy(struct rung_bed *bed)
{
    if (!bed)
        return;
    for (int i = 0; i < 2; i++) {
        if (bed->known[i].ref.value)
            bed->dev->ops->free(bed->dev, bed->known[i].ref.value);
        if (bed->known[i].ref.magnitude)
            bed->dev->ops->free(bed->dev, bed->known[i].ref.magnitude);
    }
    rung_guarded_free(bed->dev, &bed->c0);
    for (uint32_t i = 0; bed->mem && i < bed->n_sets * bed->n_operands; i++)
        rung_guarded_free(bed->dev, &bed->mem[i]);
    free(bed->mem);
    free(bed->set);
    free(bed);
}

struct rung_device *rung_bed_device(const struct rung_bed *bed)
{
    return bed->dev;
}

const struct rung_case *rung_bed_case(const struct rung_bed *bed)
{
    return &bed->c;
}

const struct rung_set *rung_bed_sets(const struct rung_bed *bed, uint32_t *n)
{
    *n = bed->n_sets;
    return bed->set;
}

static struct rung_fill fill_of(const struct rung_bed *bed, uint32_t operand)
{
    return (struct rung_fill){
        .kind = bed->data == RUNG_DATA_INTS ? RUNG_FILL_INTS : RUNG_FILL_UNIFORM,
        .range = bed->family->int_range(&bed->c),
        .seed = rung_mix64(bed->seed + operand),
    };
}

/* Known for this data and seed, else computed into the slot; NULL with the status on failure. */
static enum rung_status whole_reference(struct rung_bed *bed, struct rung_ref *out,
                                        struct rung_err *err)
{
    struct known_ref *k = &bed->known[bed->known[1].ref.value && bed->data == RUNG_DATA_FLOATS];
    enum rung_status s = RUNG_OK;

    if (!k->valid || k->data != bed->data || k->seed != bed->seed) {
        s = bed->dev->kit->reference(bed->dev, &bed->c, &bed->set[0], bed->c0.data, 0,
                                     bed->set[0].operand[bed->family->output].dim[0], k->ref, err);
        k->valid = !s;
        k->data = bed->data;
        k->seed = bed->seed;
    }
    *out = k->ref;
    return s;
}

static bool whole(const struct rung_bed *bed)
{
    return bed->tile_rows >= bed->set[0].operand[bed->family->output].dim[0];
}

/* The family's special values over what fill has left, by way of the host. */
static enum rung_status fill_special(struct rung_bed *bed, const struct rung_operand *o, uint32_t i,
                                     struct rung_err *err)
{
    const struct rung_fill f = fill_of(bed, i);
    const size_t bytes = (size_t)o->dim[1] * sizeof(float);
    float *row = malloc(bytes);
    enum rung_status s = row ? RUNG_OK : rung_fail(err, RUNG_E_NOMEM, "bed: out of memory");

    for (int64_t r = 0; r < o->dim[0] && !s; r++) {
        for (int64_t col = 0; col < o->dim[1]; col++) {
            const uint32_t bits = rung_fill_value(f, (uint64_t)(r * o->dim[1] + col));
            float usual;
            memcpy(&usual, &bits, sizeof usual);
            row[col] = bed->family->special(&bed->c, i, r, col, usual);
        }
        s = bed->dev->ops->copy(bed->dev, (float *)o->data + r * o->stride[0], row, bytes,
                                RUNG_TO_DEVICE, err);
    }
    free(row);
    return s;
}

enum rung_status rung_bed_load(struct rung_bed *bed, enum rung_dataset data, uint64_t seed,
                               struct rung_err *err)
{
    enum rung_status s = RUNG_OK;
    bed->data = data;
    bed->seed = seed;
    for (uint32_t j = 0; j < bed->n_sets; j++)
        for (uint32_t i = 0; i < bed->n_operands; i++) {
            const struct rung_operand *o = &bed->set[j].operand[i];
            if (is_empty(o) || o->role != RUNG_IN)
                continue;
            /* An input that must not be read stays canary: NaN if the kernel reads it. */
            if (bed->family->reads(&bed->c, i) &&
                (s = bed->dev->kit->fill(bed->dev, operand_view(o), fill_of(bed, i), err)))
                return s;
            if (data == RUNG_DATA_SPECIAL && j == 0 && (s = fill_special(bed, o, i, err)))
                return s;
            if (j == 0 && (s = bed->dev->kit->checksum(bed->dev, operand_view(o),
                                                       &bed->input_sum[i], err)))
                return s;
        }
    if (bed->c0.data) {
        const struct rung_operand *o = &bed->set[0].operand[bed->family->output];
        struct rung_view v = {bed->c0.data, o->dim[0], o->dim[1], o->dim[1]};
        if (!is_empty(o) && (s = bed->dev->kit->fill(bed->dev, v,
                                                     fill_of(bed, bed->family->output), err)))
            return s;
    }
    for (uint32_t j = 0; j < bed->n_sets && !s; j++)
        s = rung_bed_reset(bed, j, err);
    struct rung_ref ref;
    return s || !whole(bed) ? s : whole_reference(bed, &ref, err);
}

enum rung_status rung_bed_reset(struct rung_bed *bed, uint32_t set, struct rung_err *err)
{
    const struct rung_operand *o = &bed->set[set].operand[bed->family->output];
    const struct rung_guarded *g = &bed->mem[set * bed->n_operands + bed->family->output];

    if (is_empty(o))
        return RUNG_OK;
    /* The padding too, then the rows over it. */
    enum rung_status s = bed->dev->ops->fill32(bed->dev, g->data, RUNG_CANARY_BITS,
                                               g->payload / 4, err);
    if (s)
        return s;
    if (o->role == RUNG_INOUT)
        return bed->dev->kit->fill(bed->dev, operand_view(o), fill_of(bed, bed->family->output),
                                   err);
    return bed->dev->kit->fill(
        bed->dev, operand_view(o),
        (struct rung_fill){.kind = RUNG_FILL_BITS, .bits = RUNG_POISON_BITS}, err);
}

static void judge(struct rung_verdict *v, const struct rung_compare *r, const char *name,
                  int64_t row, int64_t col, bool exact, enum rung_dataset data)
{
    if (!exact && r->worst > v->worst)
        v->worst = r->worst;
    if (!r->wrong || v->fault != RUNG_FAULT_NONE)
        return;
    v->fault = r->unwritten ? RUNG_FAULT_UNWRITTEN : r->nan ? RUNG_FAULT_NAN : RUNG_FAULT_WRONG_VALUE;
    snprintf(v->what, sizeof v->what,
             "%llu wrong elements%s of %s on %s, first %s[%lld,%lld] = %.9g, expected %.9g %s %.3g",
             (unsigned long long)r->wrong,
             r->unwritten ? " (some never written)" : r->nan ? " (some NaN)" : "", name,
             data == RUNG_DATA_INTS ? "whole numbers"
             : data == RUNG_DATA_FLOATS ? "random floats" : "special values", name, (long long)row, (long long)col,
             (double)r->got, r->want, exact ? "exactly, not within" : "within", r->allowed);
}

static enum rung_status check_values(struct rung_bed *bed, uint32_t set, struct rung_verdict *v,
                                     struct rung_err *err)
{
    const struct rung_operand *o = &bed->set[set].operand[bed->family->output];
    const struct rung_tolerance tol = {.exact = bed->data == RUNG_DATA_INTS && bed->family->exact,
                                       .factor = bed->family->tolerance(&bed->c)};
    enum rung_status s;

    v->factor = tol.factor;
    for (int64_t row = 0; row < o->dim[0]; row += bed->tile_rows) {
        const int64_t rows = o->dim[0] - row < bed->tile_rows ? o->dim[0] - row : bed->tile_rows;
        struct rung_view view = {(float *)o->data + row * o->stride[0], rows, o->dim[1],
                                 o->stride[0]};
        struct rung_compare r;
        struct rung_ref ref = bed->known[0].ref;
        s = whole(bed) ? whole_reference(bed, &ref, err)
                       : bed->dev->kit->reference(bed->dev, &bed->c, &bed->set[set],
                                                  bed->c0.data, row, rows, ref, err);
        if (!s)
            s = bed->dev->kit->compare(bed->dev, view, ref, tol, &r, err);
        if (s)
            return s;
        const int64_t first = r.wrong ? (int64_t)r.first : 0;
        judge(v, &r, o->name, row + first / o->dim[1], first % o->dim[1], tol.exact,
              bed->data);
        v->checked += (uint64_t)rows * (uint64_t)o->dim[1];
    }
    return RUNG_OK;
}

static enum rung_status check_operand(struct rung_bed *bed, uint32_t set, uint32_t i,
                                      struct rung_verdict *v, struct rung_err *err)
{
    const struct rung_operand *o = &bed->set[set].operand[i];
    enum rung_status s = rung_guarded_check(bed->dev, &bed->mem[set * bed->n_operands + i], v, err);

    if (s || is_empty(o) || v->fault)
        return s;
    const int64_t pad = o->stride[0] - o->dim[1];
    if (pad > 0 && o->dim[0] > 1) {
        struct rung_view v2 = {(float *)o->data + o->dim[1], o->dim[0] - 1, pad, o->stride[0]};
        uint64_t bad, first;
        if ((s = bed->dev->kit->scan(bed->dev, v2, RUNG_CANARY_BITS, &bad, &first, err)))
            return s;
        if (bad) {
            v->fault = RUNG_FAULT_PADDING;
            snprintf(v->what, sizeof v->what,
                     "wrote %llu words of the padding of %s, first behind row %lld",
                     (unsigned long long)bad, o->name, (long long)((int64_t)first / o->stride[0]));
            return RUNG_OK;
        }
    }
    if (o->role == RUNG_IN) {
        uint64_t sum;
        if ((s = bed->dev->kit->checksum(bed->dev, operand_view(o), &sum, err)))
            return s;
        if (sum != bed->input_sum[i]) {
            v->fault = RUNG_FAULT_INPUT_CHANGED;
            snprintf(v->what, sizeof v->what, "changed its input %s", o->name);
        }
    }
    return RUNG_OK;
}

enum rung_status rung_bed_check(struct rung_bed *bed, uint32_t set, struct rung_verdict *out,
                                struct rung_err *err)
{
    enum rung_status s = RUNG_OK;

    for (uint32_t i = 0; i < bed->n_operands && !s; i++)
        s = check_operand(bed, set, i, out, err);
    if (!s && !is_empty(&bed->set[set].operand[bed->family->output]))
        s = check_values(bed, set, out, err);
    return s;
}
