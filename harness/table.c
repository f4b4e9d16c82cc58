#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CELL 120

struct rung_table {
    const char *const *heading;
    size_t n_columns, n_cells, cap;
    char (*cell)[CELL];
};

struct rung_table *rung_table_create(const char *const *heading, size_t n_columns)
{
    struct rung_table *t = calloc(1, sizeof *t);
    if (t) {
        t->heading = heading;
        t->n_columns = n_columns;
    }
    return t;
}

void rung_table_cell(struct rung_table *t, const char *fmt, ...)
{
    va_list ap;
    if (!t)
        return;
    if (t->n_cells == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        void *p = realloc(t->cell, cap * sizeof *t->cell);
        if (!p)
            return;
        t->cell = p;
        t->cap = cap;
    }
    va_start(ap, fmt);
    vsnprintf(t->cell[t->n_cells++], CELL, fmt, ap);
    va_end(ap);
}

/* Columns of a UTF-8 string on a terminal: its code points. */
static int width(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void put(const char *s, int columns, bool right, bool last)
{
    int pad = columns - width(s);
    if (right)
        printf("%*s%s%s", pad, "", s, last ? "\n" : "  ");
    else
        printf("%s%*s%s", s, last ? 0 : pad, "", last ? "\n" : "  ");
}

void rung_table_print(const struct rung_table *t)
{
    if (!t)
        return;
    for (size_t row = 0; row <= t->n_cells / t->n_columns; row++)
        for (size_t c = 0; c < t->n_columns; c++) {
            const bool right = t->heading[c][0] == '>';
            const char *head = t->heading[c] + right;
            int w = width(head);
            for (size_t i = c; i < t->n_cells; i += t->n_columns)
                if (width(t->cell[i]) > w)
                    w = width(t->cell[i]);
            const char *text = row ? t->cell[(row - 1) * t->n_columns + c] : head;
            put(text, w, right, c + 1 == t->n_columns);
        }
}

void rung_table_destroy(struct rung_table *t)
{
    if (!t)
        return;
    free(t->cell);
    free(t);
}

void rung_progress(bool quiet, const char *fmt, ...)
{
    va_list ap;
    if (quiet || !isatty(STDERR_FILENO))
        return;
    fputs("\r\033[K", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fflush(stderr);
}
