/* Errors: a status code plus one message, written by the first that detects the fault. */
#ifndef RUNG_STATUS_H
#define RUNG_STATUS_H

#include <rung/plugin.h>
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUNG_MSG_MAX 768

struct rung_err {
    enum rung_status code;
    char msg[RUNG_MSG_MAX];
};

/* Fills `err` (may be NULL) and returns `code`, so that callers write
 * `return rung_fail(err, RUNG_E_IO, "cannot open %s: %s", path, strerror(errno));` */
enum rung_status rung_fail(struct rung_err *err, enum rung_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
enum rung_status rung_vfail(struct rung_err *err, enum rung_status code, const char *fmt,
                            va_list ap);

/* Stable lower-case name, "refused". */
const char *rung_status_name(enum rung_status s);

#ifdef __cplusplus
}
#endif
#endif
