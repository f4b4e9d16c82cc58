/*
 * The null run: a kernel against itself. Whatever difference it finds is noise, so that it says
 * what differences can be claimed here. Operands are allocated anew between blocks, since where
 * they lie moves times too, and one block would not show it.
 */
#include "ladder.h"
#include "measure.h"
#include "runner.h"
#include "stats.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 4
#define ROUNDS 12            /* a block */
#define BLOCK_BUDGET_S 1.2   /* all blocks of a kernel stay under 5 s */
#define CLAIM_LIMIT 0.002    /* a claim of more than this is a fault of the bench */

/* Ratios of all blocks, one after the other. */
struct collected {
    double *ratio, *ms;
    size_t n;
};

static enum rung_status one_block(struct rung_ladder *l, const struct rung_case *c,
                                  const struct rung_plugin *p, int block, struct collected *all,
                                  struct rung_err *err)
{
    const uint32_t n_sets = rung_ladder_sets(l, c);
    struct rung_bed *bed = NULL;
    struct rung_session *s = NULL;
    struct rung_series pair[2];
    struct rung_measured m;
    const struct rung_measure_options mo = {
        .min_rounds = ROUNDS,
        .max_rounds = ROUNDS,
        .budget_s = BLOCK_BUDGET_S,
        .slice_ms = l->o->slice_ms > 0 ? l->o->slice_ms : 5.0,
        .seed = l->o->seed + (uint64_t)block,
        .graph = rung_ladder_graph(l),
        .quiet = true,
        .clocks = l->clocks,
    };

    memset(pair, 0, sizeof pair);
    rung_progress(l->o->quiet, "null run of %s: block %d of %d", p->id, block + 1, BLOCKS);
    enum rung_status st = rung_bed_create(l->dev, c, n_sets, &bed, err);
    if (!st)
        st = rung_session_open(bed, p, &s, err);
    if (!st)
        st = rung_bed_load(bed, RUNG_DATA_FLOATS, l->o->seed, err);
    if (!st) {
        for (int i = 0; i < 2; i++)
            pair[i].task = (struct rung_task){rung_session_task, s, n_sets};
        st = rung_measure(pair, 2, true, l->dev, &mo, &m, err);
    }
    for (size_t i = 0; i < pair[1].n && all->n < BLOCKS * ROUNDS && !st; i++) {
        all->ratio[all->n] = pair[1].ratio[i];
        all->ms[all->n++] = pair[1].ms[i];
    }
    for (int i = 0; i < 2; i++)
        rung_series_finish(&pair[i], l->dev);
    rung_session_close(s);
    rung_bed_destroy(bed);
    rung_progress(l->o->quiet, "%s", "");
    return st;
}

static void null_row(struct rung_ladder *l, const struct rung_case *c, const struct rung_plugin *p,
                     json_t *rows)
{
    double ratio[BLOCKS * ROUNDS], ms[BLOCKS * ROUNDS], lo, hi;
    struct collected all = {ratio, ms, 0};
    struct rung_err err = {RUNG_OK, ""};
    enum rung_status st = RUNG_OK;
    char label[160];
    json_t *e = rung_json_append(rows);

    for (int b = 0; b < BLOCKS && !st; b++)
        st = one_block(l, c, p, b, &all, &err);
    rung_case_label(c, label, sizeof label);
    rung_median_interval(ratio, all.n, &lo, &hi);
    const double median = rung_median(ratio, all.n);
    const double floor = fmax(fabs(lo - 1.0), fabs(hi - 1.0));
    const bool claims = lo > 1.0 + CLAIM_LIMIT || hi < 1.0 - CLAIM_LIMIT;

    rung_json_text(e, "type", "null");
    rung_json_text(e, "kernel", p->id);
    rung_json_text(e, "family", l->plan->family->name);
    rung_json_text(e, "case", label);
    rung_json_text(e, "device", l->dev->info.kind);
    rung_json_text(e, "l2", rung_ladder_cold(l) ? "cold" : "warm");
    rung_json_text(e, "timing", rung_ladder_graph(l) ? "graph" : "events");
    rung_json_number(e, "ms", rung_median(ms, all.n));
    rung_json_number(e, "ratio", median);
    rung_json_number(e, "ratio_lo", lo);
    rung_json_number(e, "ratio_hi", hi);
    rung_json_number(e, "floor", floor);
    rung_json_count(e, "rounds", (long long)all.n);
    rung_json_bool(e, "contains_1", lo <= 1.0 && hi >= 1.0);
    rung_json_text(e, "why_not", st ? err.msg
                   : claims ? "claims a difference where there is none"
                   : lo <= 1.0 && hi >= 1.0 ? "no difference" : "within 0.2 %");
    if (st == RUNG_E_UNAVAILABLE || st == RUNG_E_REFUSED)
        rung_json_text(e, "state", rung_status_name(st));
    else
        l->failed = l->failed || st || claims || !all.n;
    rung_record_line(l->record, e);
}

void rung_null_case(struct rung_ladder *l, const struct rung_case *c, json_t *rows, size_t *first)
{
    *first = json_array_size(rows);
    for (size_t i = 0; i < l->plan->n_kernels; i++)
        null_row(l, c, l->plan->kernel[i], rows);
}
