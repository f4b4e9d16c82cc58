/* Named sets of shapes: the files of sweeps/, embedded so that a copied binary has them. */
#ifndef RUNG_SWEEP_H
#define RUNG_SWEEP_H

#include "status.h"

/* Text of the set; an unknown name fails with the names there are. */
enum rung_status rung_sweep_find(const char *name, size_t len, const char **text,
                                 struct rung_err *err);
/* The next shape for `family` at *text, which moves behind it; false at the end. */
bool rung_sweep_next(const char **text, const char *family, const char **shape, size_t *len);

#endif
