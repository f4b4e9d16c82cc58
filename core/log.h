/* Logging to stderr: `rung: warning: ...`, one line a message. */
#ifndef RUNG_LOG_H
#define RUNG_LOG_H

#include <rung/plugin.h>
#include <stdarg.h>

/* Lines above this level are dropped. Default: RUNG_LOG_WARN. */
void rung_log_set_level(enum rung_log_level level);
void rung_log(enum rung_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void rung_vlog(enum rung_log_level level, const char *fmt, va_list ap);

#endif
