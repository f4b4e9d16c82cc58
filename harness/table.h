/* Text tables on stdout: columns as wide as their content, numbers to the right. */
#ifndef RUNG_TABLE_H
#define RUNG_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct rung_table;

/* Headings; one that starts with '>' is of a right-aligned column. */
struct rung_table *rung_table_create(const char *const *heading, size_t n_columns);
/* Sets the next cell of the current row; after the last column a new row begins. */
void rung_table_cell(struct rung_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void rung_table_print(const struct rung_table *t);
void rung_table_destroy(struct rung_table *t);

/* A progress line on stderr, overwritten in place; nothing where stderr is no terminal or
 * `quiet` was asked for. An empty message clears it. */
void rung_progress(bool quiet, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
