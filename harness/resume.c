#include "resume.h"

#include "clocks.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* "k5: why\n" a kernel left out; a number; two paths. */
#define ENV_WITHOUT "RUNG_WITHOUT"
#define ENV_CASES "RUNG_RESUME_CASES"
#define ENV_ROWS "RUNG_RESUME_ROWS"
#define ENV_RECORD "RUNG_RESUME_RECORD"

static struct {
    pthread_mutex_t lock;
    pthread_t thread;
    bool started;
    char kernel[80];
    double deadline, seconds; /* deadline 0: nothing is watched */
    json_t *rows;
    size_t cases;
    char record[512];
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool rung_resume_without(const char *kernel, char *why, size_t cap)
{
    const char *list = getenv(ENV_WITHOUT);
    const size_t n = strlen(kernel);
    for (const char *p = list; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (!strncmp(p, kernel, n) && p[n] == ':') {
            snprintf(why, cap, "%.*s", (int)strcspn(p + n + 2, "\n"), p + n + 2);
            return true;
        }
    return false;
}

size_t rung_resume_cases(void)
{
    const char *s = getenv(ENV_CASES);
    return s ? strtoul(s, NULL, 10) : 0;
}

const char *rung_resume_record(void)
{
    return getenv(ENV_RECORD);
}

void rung_resume_rows(json_t *rows)
{
    const char *path = getenv(ENV_ROWS);
    json_error_t error;
    json_t *before = path ? json_load_file(path, 0, &error) : NULL;
    if (before) {
        json_array_extend(rows, before);
        json_decref(before);
    }
    if (path)
        unlink(path);
    now.rows = rows;
    now.cases = rung_resume_cases();
}

void rung_resume_record_is(const char *path)
{
    snprintf(now.record, sizeof now.record, "%s", path ? path : "");
}

void rung_resume_done(void)
{
    now.cases++;
}

/* The arguments this process was started with, as one block. */
static char **own_arguments(char *block, size_t cap, char **argv, size_t most)
{
    FILE *f = fopen("/proc/self/cmdline", "re");
    const size_t n = f ? fread(block, 1, cap - 1, f) : 0;
    size_t used = 0;
    if (f)
        fclose(f);
    block[n] = '\0';
    for (size_t at = 0; at < n && used < most - 1; at += strlen(block + at) + 1)
        argv[used++] = block + at;
    argv[used] = NULL;
    return used ? argv : NULL;
}

void rung_restart_without(const char *kernel, const char *why)
{
    static char block[16384], without[8192], number[32], path[512];
    char *argv[256];
    const char *before = getenv(ENV_WITHOUT);

    fprintf(stderr, "rung: %s: %s; going on without it in a fresh process\n", kernel, why);
    fflush(NULL);
    snprintf(without, sizeof without, "%s%s: %s\n", before ? before : "", kernel, why);
    setenv(ENV_WITHOUT, without, 1);
    snprintf(number, sizeof number, "%zu", now.cases);
    setenv(ENV_CASES, number, 1);
    if (now.record[0])
        setenv(ENV_RECORD, now.record, 1);
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/rung-rows-XXXXXX", tmp ? tmp : P_tmpdir);
    const int fd = mkstemp(path);
    if (fd >= 0 && now.rows && !json_dumpfd(now.rows, fd, JSON_REAL_PRECISION(17)))
        setenv(ENV_ROWS, path, 1);
    if (fd >= 0)
        close(fd);
    if (!own_arguments(block, sizeof block, argv, 256))
        return;
    /* The device's descriptors must not outlive this process image, or neither would its work. */
    syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
    execv("/proc/self/exe", argv);
    fprintf(stderr, "rung: cannot start a fresh process\n");
}

static void *watch(void *arg)
{
    const struct timespec pause = {0, 100000000L};
    (void)arg;
    for (;;) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&now.lock);
        const bool over = now.deadline > 0 && rung_now() > now.deadline;
        pthread_mutex_unlock(&now.lock);
        if (over) {
            char why[64];
            snprintf(why, sizeof why, "hangs: not done after %g s", now.seconds);
            rung_restart_without(now.kernel, why);
            _exit(1);
        }
    }
    return NULL;
}

void rung_watch(const char *kernel, double seconds)
{
    pthread_mutex_lock(&now.lock);
    now.deadline = kernel ? rung_now() + seconds : 0;
    now.seconds = seconds;
    if (kernel)
        snprintf(now.kernel, sizeof now.kernel, "%s", kernel);
    if (kernel && !now.started)
        now.started = !pthread_create(&now.thread, NULL, watch, NULL);
    pthread_mutex_unlock(&now.lock);
}
