/* What ties a run to one binary, one boot and one GPU: the head of its record. */
#ifndef RUNG_IDENTITY_H
#define RUNG_IDENTITY_H

#include "device.h"
#include "json.h"
#include "options.h"

/* A new object; every field is there, null where it is unknown. */
json_t *rung_identity(const struct rung_options *o, const struct rung_device *dev);

/*
 * May the ratio of this row be called official? Decided from the record alone: `run` is the head
 * of its run, `row` its summary. On false, `why` is the first reason against it.
 */
bool rung_official(const json_t *run, const json_t *row, char *why, size_t cap);

#endif
