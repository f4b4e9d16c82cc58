#include "record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

struct rung_record {
    FILE *f;
    char path[512];
    int error; /* errno of the first write that failed */
};

static void default_path(char *out, size_t cap)
{
    const time_t now = time(NULL);
    char stamp[32];
    struct utsname u;
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime(&now));
    mkdir("runs", 0777);
    snprintf(out, cap, "runs/%s-%s.jsonl", stamp, uname(&u) ? "host" : u.nodename);
    /* Two runs in one second keep their own files. */
    struct stat there;
    for (int i = 2; i < 100 && !stat(out, &there); i++)
        snprintf(out, cap, "runs/%s-%s-%d.jsonl", stamp, uname(&u) ? "host" : u.nodename, i);
}

enum rung_status rung_record_open(const char *path, bool append, struct rung_record **out,
                                  struct rung_err *err)
{
    struct rung_record *r = calloc(1, sizeof *r);
    if (!r)
        return rung_fail(err, RUNG_E_NOMEM, "record: out of memory");
    if (path)
        snprintf(r->path, sizeof r->path, "%s", path);
    else
        default_path(r->path, sizeof r->path);
    r->f = fopen(r->path, append ? "ae" : "we");
    if (!r->f) {
        enum rung_status s = rung_fail(err, RUNG_E_IO, "cannot write the record %s: %s; --out names "
                                       "another file", r->path, strerror(errno));
        free(r);
        return s;
    }
    *out = r;
    return RUNG_OK;
}

const char *rung_record_path(const struct rung_record *r)
{
    return r ? r->path : NULL;
}

void rung_record_line(struct rung_record *r, const json_t *line)
{
    if (!r || r->error)
        return;
    if (json_dumpf(line, r->f, JSON_COMPACT | JSON_REAL_PRECISION(17)) || fputc('\n', r->f) == EOF ||
        fflush(r->f))
        r->error = errno ? errno : EIO;
}

enum rung_status rung_record_close(struct rung_record *r, struct rung_err *err)
{
    enum rung_status s = RUNG_OK;
    if (!r)
        return RUNG_OK;
    if (fclose(r->f) && !r->error)
        r->error = errno;
    if (r->error)
        s = rung_fail(err, RUNG_E_IO, "%s is incomplete: %s", r->path, strerror(r->error));
    free(r);
    return s;
}

enum rung_status rung_record_read(const char *path, json_t **out, struct rung_err *err)
{
    FILE *f = fopen(path, "re");
    json_t *lines = json_array();
    char *line = NULL;
    size_t cap = 0, number = 0;
    enum rung_status s = RUNG_OK;

    if (!f) {
        json_decref(lines);
        return rung_fail(err, RUNG_E_IO, "%s: %s", path, strerror(errno));
    }
    for (ssize_t n; !s && (n = getline(&line, &cap, f)) > 0;) {
        json_error_t bad;
        json_t *o = json_loads(line, 0, &bad);
        number++;
        if (json_is_object(o) && json_object_get(o, "type")) {
            json_array_append_new(lines, o);
            continue;
        }
        json_decref(o);
        if (line[n - 1] == '\n')
            s = rung_fail(err, RUNG_E_IO, "%s:%zu: not a line of a run's record", path, number);
    }
    free(line);
    fclose(f);
    if (!s && (!json_array_size(lines) ||
               strcmp(json_string_value(json_object_get(json_array_get(lines, 0), "type")), "run")))
        s = rung_fail(err, RUNG_E_IO, "%s: not the record of a run: its first line is no head", path);
    if (s)
        json_decref(lines);
    else
        *out = lines;
    return s;
}
