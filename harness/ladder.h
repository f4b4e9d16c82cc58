/* A ladder: kernels of one family, case by case, verified, measured, verified again. Each
 * becomes a row, a flat JSON object that the writers and the record share. */
#ifndef RUNG_LADDER_H
#define RUNG_LADDER_H

#include "clocks.h"
#include "json.h"
#include "plan.h"
#include "record.h"

struct rung_ladder {
    const struct rung_options *o;
    const struct rung_plan *plan;
    const struct rung_registry *reg;
    struct rung_device *dev;
    struct rung_clocks *clocks;
    struct rung_record *record; /* may be NULL */
    json_t *run;                /* the head of the record */
    bool wrong, failed;
};

/* Measures one case and appends its rows. `first` gets the index of the first of them. */
void rung_ladder_case(struct rung_ladder *l, const struct rung_case *c, json_t *rows,
                      size_t *first);
/* Each kernel against itself, operands allocated anew between blocks. Appends one row a kernel. */
void rung_null_case(struct rung_ladder *l, const struct rung_case *c, json_t *rows, size_t *first);

bool rung_ladder_cold(const struct rung_ladder *l);
bool rung_ladder_graph(const struct rung_ladder *l);
/* Operand sets that together are more than twice the cache; 1 where they stay in it. */
uint32_t rung_ladder_sets(const struct rung_ladder *l, const struct rung_case *c);

/* Writers. A table of the rows [first, end); CSV with a head of all columns. */
void rung_write_table(const json_t *rows, size_t first, bool memory_bound, bool gpu);
void rung_write_null_table(const json_t *rows, size_t first);
void rung_write_csv(const json_t *run, const json_t *rows);

#endif
