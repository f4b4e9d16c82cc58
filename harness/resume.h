/*
 * A kernel that hangs or breaks the device costs itself only: the ladder goes on in a fresh
 * process (the same arguments, exec) without it, after the cases that were done. What was printed
 * stays printed; rows and the name of the record travel with the process.
 */
#ifndef RUNG_RESUME_H
#define RUNG_RESUME_H

#include "json.h"

#include <stddef.h>

/* Was this kernel left out by the process before? Then `why` says why. */
bool rung_resume_without(const char *kernel, char *why, size_t cap);
/* Cases that the processes before this one have finished. */
size_t rung_resume_cases(void);
/* Their rows, appended to `rows`; and from then on the rows that a restart would carry. */
void rung_resume_rows(json_t *rows);
/* The record of the process before; NULL in the first. */
const char *rung_resume_record(void);

/* Where the record of this run is; NULL if there is none. */
void rung_resume_record_is(const char *path);
/* A case is finished; a restart goes on behind it. */
void rung_resume_done(void);

/* From here on `kernel` has so many seconds, or the ladder restarts without it. NULL: nothing
 * is under watch. */
void rung_watch(const char *kernel, double seconds);
/* Goes on without this kernel. Returns only if the process cannot be replaced. */
void rung_restart_without(const char *kernel, const char *why);

#endif
