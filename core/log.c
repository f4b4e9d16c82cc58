#include "log.h"

#include <stdio.h>

static enum rung_log_level log_level = RUNG_LOG_WARN;

void rung_log_set_level(enum rung_log_level level)
{
    log_level = level;
}

void rung_vlog(enum rung_log_level level, const char *fmt, va_list ap)
{
    static const char *const prefix[] = {"error: ", "warning: ", "", "debug: "};
    char line[1024];

    if (level > log_level)
        return;
    vsnprintf(line, sizeof line, fmt, ap);
    fprintf(stderr, "rung: %s%s\n", prefix[level], line);
}

void rung_log(enum rung_log_level level, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    rung_vlog(level, fmt, ap);
    va_end(ap);
}
