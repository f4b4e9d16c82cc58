#include "status.h"

#include <stdio.h>

enum rung_status rung_vfail(struct rung_err *err, enum rung_status code, const char *fmt,
                            va_list ap)
{
    if (err) {
        err->code = code;
        vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    }
    return code;
}

enum rung_status rung_fail(struct rung_err *err, enum rung_status code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    rung_vfail(err, code, fmt, ap);
    va_end(ap);
    return code;
}

const char *rung_status_name(enum rung_status s)
{
    switch (s) {
    case RUNG_OK: return "ok";
    case RUNG_E_USAGE: return "usage";
    case RUNG_E_REFUSED: return "refused";
    case RUNG_E_UNAVAILABLE: return "unavailable";
    case RUNG_E_NOMEM: return "out of memory";
    case RUNG_E_IO: return "i/o error";
    case RUNG_E_DEVICE: return "device error";
    case RUNG_E_WRONG: return "wrong result";
    case RUNG_E_BAD_PLUGIN: return "bad plugin";
    case RUNG_E_INTERNAL: return "internal error";
    }
    return "unknown status";
}
