/*
 * The record of a run: one JSON object a line, written and flushed as it becomes known, so that a
 * killed run loses at most its last line. docs/record.schema.json describes the lines.
 */
#ifndef RUNG_RECORD_H
#define RUNG_RECORD_H

#include "json.h"
#include "status.h"

struct rung_record;

/* path NULL: runs/<stamp>-<host>.jsonl in the current folder. append: a run that goes on. */
enum rung_status rung_record_open(const char *path, bool append, struct rung_record **out,
                                  struct rung_err *err);
const char *rung_record_path(const struct rung_record *r);
/* Writes one line; borrows it. r may be NULL. The first failure is kept for rung_record_close. */
void rung_record_line(struct rung_record *r, const json_t *line);
enum rung_status rung_record_close(struct rung_record *r, struct rung_err *err);

/* All lines of a file as an array. A truncated last line is left out; anything else that is
 * not a record is an error with its line. */
enum rung_status rung_record_read(const char *path, json_t **out, struct rung_err *err);

#endif
