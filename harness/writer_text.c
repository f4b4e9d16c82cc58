/* The tables on stdout, from rows alone. */
#include "ladder.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A dash where there is no number: never nan, never 0. */
static void cell(struct rung_table *t, const char *fmt, double v)
{
    if (isnan(v))
        rung_table_cell(t, "—");
    else
        rung_table_cell(t, fmt, v);
}

static void ratio_cells(struct rung_table *t, const json_t *row)
{
    const double lo = rung_json_get_number(row, "ratio_lo"), hi = rung_json_get_number(row, "ratio_hi");
    cell(t, "%.2f%%", 100.0 * rung_json_get_number(row, "ratio"));
    if (!strcmp(rung_json_get_text(row, "reference"), rung_json_get_text(row, "kernel")))
        rung_table_cell(t, "reference");
    else if (isnan(lo))
        rung_table_cell(t, "—");
    else
        rung_table_cell(t, "%.2f – %.2f", 100.0 * lo, 100.0 * hi);
    cell(t, "%.2f%%", 100.0 * rung_json_get_number(row, "ratio_cycles"));
}

static const char *verified(const json_t *row)
{
    const char *state = rung_json_get_text(row, "state");
    return !strcmp(state, "ceiling") ? "—" : state;
}

/* One line for what all kernels share: how it ended, the clock, what is not official. */
static void footer(const json_t *rows, size_t first)
{
    const json_t *row = json_array_get(rows, first);
    double low = NAN, high = NAN;
    int official = 0, kernels = 0;
    const char *why = NULL;

    for (size_t i = first; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i);
        const double mhz = rung_json_get_number(r, "mhz");
        low = !(mhz >= low) ? mhz : low;
        high = !(mhz <= high) ? mhz : high;
        if (!strcmp(rung_json_get_text(r, "state"), "ceiling"))
            continue;
        kernels++;
        official += json_is_true(json_object_get(r, "official"));
        if (!why && !json_is_true(json_object_get(r, "official")))
            why = rung_json_get_text(r, "why_not");
    }
    if (isnan(rung_json_get_number(row, "ms")))
        return;
    printf("  %.0f rounds, ended by %s; L2 %s, %s", rung_json_get_number(row, "rounds"), rung_json_get_text(row, "ended"),
           rung_json_get_text(row, "l2"), rung_json_get_text(row, "timing"));
    if (!isnan(low))
        printf("; SM at %.0f to %.0f MHz", low, high);
    if (official == kernels)
        printf("; official");
    else
        printf("; %d of %d official%s%s", official, kernels, why ? ": " : "", why ? why : "");
    printf("\n");
    if (json_is_true(json_object_get(row, "fits_l2")) && !strcmp(rung_json_get_text(row, "l2"), "warm"))
        printf("  the operands fit in L2: bandwidths can pass the memory's\n");
}

/* Facts that kernels noted, and why a kernel has no figure. */
static void notes(const json_t *rows, size_t first)
{
    static const char *const key[] = {"cublas_version", "cublas_path", "cublas_kernel", "openblas"};
    for (size_t i = first; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i);
        for (size_t j = 0; j < sizeof key / sizeof key[0]; j++)
            if (rung_json_get_text(r, key[j])[0])
                printf("  %s %s: %s\n", rung_json_get_text(r, "kernel"), key[j], rung_json_get_text(r, key[j]));
        if (strcmp(rung_json_get_text(r, "state"), "yes") && strcmp(rung_json_get_text(r, "state"), "ceiling"))
            printf("  %s %s: %s\n", rung_json_get_text(r, "kernel"), rung_json_get_text(r, "state"), rung_json_get_text(r, "why_not"));
    }
}

static void compute_row(struct rung_table *t, const json_t *r, bool gpu)
{
    rung_table_cell(t, "%s", rung_json_get_text(r, "kernel"));
    rung_table_cell(t, "%s", rung_json_get_text(r, "title"));
    cell(t, "%.4f", rung_json_get_number(r, "ms"));
    cell(t, "%.2f", rung_json_get_number(r, "tflops") * (gpu ? 1.0 : 1e3));
    cell(t, "%.1f%%", 100.0 * rung_json_get_number(r, "of_fma_peak"));
    ratio_cells(t, r);
    rung_table_cell(t, "%s", verified(r));
}

static void memory_row(struct rung_table *t, const json_t *r)
{
    rung_table_cell(t, "%s", rung_json_get_text(r, "kernel"));
    rung_table_cell(t, "%s", rung_json_get_text(r, "title"));
    cell(t, "%.2f", 1e3 * rung_json_get_number(r, "ms"));
    cell(t, "%.0f", rung_json_get_number(r, "gbps"));
    cell(t, "%.1f%%", 100.0 * rung_json_get_number(r, "of_copy"));
    ratio_cells(t, r);
    if (isnan(rung_json_get_number(r, "ratio")) || isnan(rung_json_get_number(r, "ratio_theory")))
        rung_table_cell(t, "—");
    else
        rung_table_cell(t, "%.2f of %.2f", rung_json_get_number(r, "ratio"), rung_json_get_number(r, "ratio_theory"));
    rung_table_cell(t, "%s", verified(r));
}

void rung_write_table(const json_t *rows, size_t first, bool memory_bound, bool gpu)
{
    const json_t *head = json_array_get(rows, first);
    char ref[48];
    snprintf(ref, sizeof ref, ">of %.40s", rung_json_get_text(head, "reference")[0] ? rung_json_get_text(head, "reference")
                                                                      : "reference");
    const char *const compute[] = {"kernel", "title", ">ms", gpu ? ">TFLOP/s" : ">GFLOP/s",
                                   ">of peak", ref, "95% interval", ">in cycles", "verified"};
    const char *const memory[] = {"kernel", "title", ">µs", ">GB/s", ">of copy", ref,
                                  "95% interval", ">in cycles", ">gain", "verified"};
    struct rung_table *t = rung_table_create(memory_bound ? memory : compute, memory_bound ? 10 : 9);

    printf("\n%s %s\n", rung_json_get_text(head, "family"), rung_json_get_text(head, "case"));
    for (size_t i = first; i < json_array_size(rows); i++)
        if (memory_bound)
            memory_row(t, json_array_get(rows, i));
        else
            compute_row(t, json_array_get(rows, i), gpu);
    rung_table_print(t);
    rung_table_destroy(t);
    footer(rows, first);
    notes(rows, first);
    fflush(stdout);
}

void rung_write_null_table(const json_t *rows, size_t first)
{
    static const char *const heading[] = {"kernel", ">ms", ">A/A ratio", "95% interval", ">rounds",
                                          ">smallest claim", "verdict"};
    const json_t *head = json_array_get(rows, first);
    struct rung_table *t = rung_table_create(heading, 7);

    printf("\nnull run of %s %s\n", rung_json_get_text(head, "family"), rung_json_get_text(head, "case"));
    for (size_t i = first; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i);
        rung_table_cell(t, "%s", rung_json_get_text(r, "kernel"));
        cell(t, "%.4f", rung_json_get_number(r, "ms"));
        cell(t, "%.5f", rung_json_get_number(r, "ratio"));
        if (isnan(rung_json_get_number(r, "ratio_lo")))
            rung_table_cell(t, "—");
        else
            rung_table_cell(t, "%.5f – %.5f", rung_json_get_number(r, "ratio_lo"), rung_json_get_number(r, "ratio_hi"));
        cell(t, "%.0f", rung_json_get_number(r, "rounds"));
        cell(t, "%.3f%%", 100.0 * rung_json_get_number(r, "floor"));
        rung_table_cell(t, "%s", rung_json_get_text(r, "why_not"));
    }
    rung_table_print(t);
    rung_table_destroy(t);
    fflush(stdout);
}
