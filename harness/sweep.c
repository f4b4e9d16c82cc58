#include "sweep.h"

#include <stdio.h>
#include <string.h>

/* {name, text} pairs that end with a NULL name; written by scripts/embed.py. */
extern const char *const rung_sweeps[][2];

enum rung_status rung_sweep_find(const char *name, size_t len, const char **text,
                                 struct rung_err *err)
{
    char names[256] = "";
    size_t used = 0;

    for (size_t i = 0; rung_sweeps[i][0]; i++) {
        if (strlen(rung_sweeps[i][0]) == len && !strncmp(rung_sweeps[i][0], name, len)) {
            *text = rung_sweeps[i][1];
            return RUNG_OK;
        }
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                     rung_sweeps[i][0]);
    }
    return rung_fail(err, RUNG_E_USAGE, "--shapes: no set '%.*s'; there are %s", (int)len, name,
                     names);
}

/* A line is "FAMILY SHAPE", or a comment behind #. */
bool rung_sweep_next(const char **text, const char *family, const char **shape, size_t *len)
{
    const size_t n = strlen(family);

    while (**text) {
        const char *line = *text;
        const size_t whole = strcspn(line, "\n");
        *text = line + whole + (line[whole] == '\n');
        if (strncmp(line, family, n) || line[n] != ' ')
            continue;
        *shape = line + n + strspn(line + n, " ");
        *len = strcspn(*shape, " #\n");
        return true;
    }
    return false;
}
