/* CSV: one line a row, all columns in every line, so that a spreadsheet needs no second file. */
#include "ladder.h"

#include <stdio.h>
#include <string.h>

static const char *const run_column[] = {"time", "build_id", "boot_id", "uuid", "git"};
static const char *const row_column[] = {
    "family", "case", "kernel", "device", "l2", "timing", "ms", "tflops", "gbps", "of_fma_peak",
    "of_copy", "ratio", "ratio_lo", "ratio_hi", "ratio_cycles", "mhz", "rounds", "discarded", "ended",
    "state", "error", "error_allowed", "official", "why_not"};

static void field(const json_t *v, bool first)
{
    if (!first)
        putchar(',');
    if (json_is_string(v)) {
        putchar('"');
        for (const char *p = json_string_value(v); *p; p++) {
            if (*p == '"')
                putchar('"');
            putchar(*p);
        }
        putchar('"');
    } else if (json_is_integer(v)) {
        printf("%lld", (long long)json_integer_value(v));
    } else if (json_is_real(v)) {
        printf("%.17g", json_real_value(v));
    } else if (json_is_boolean(v)) {
        printf("%s", json_is_true(v) ? "true" : "false");
    }
}

void rung_write_csv(const json_t *run, const json_t *rows)
{
    const size_t n_run = sizeof run_column / sizeof run_column[0];
    const size_t n_row = sizeof row_column / sizeof row_column[0];

    for (size_t i = 0; i < n_run; i++)
        printf("%s%s", i ? "," : "", run_column[i]);
    for (size_t i = 0; i < n_row; i++)
        printf(",%s", row_column[i]);
    putchar('\n');
    for (size_t r = 0; r < json_array_size(rows); r++) {
        for (size_t i = 0; i < n_run; i++)
            field(json_object_get(run, run_column[i]), i == 0);
        for (size_t i = 0; i < n_row; i++)
            field(json_object_get(json_array_get(rows, r), row_column[i]), false);
        putchar('\n');
    }
}
