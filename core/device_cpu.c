/* The cpu device: kernels in C on the calling thread, timed by the monotonic clock. Its
 * memory functions also serve any other device that lives in host memory. */
#include "device_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct rung_timer {
    struct timespec start, stop;
};

enum rung_status rung_host_copy(struct rung_device *dev, void *dst, const void *src, size_t bytes,
                                enum rung_copy_dir dir, struct rung_err *err)
{
    (void)dev, (void)dir, (void)err;
    if (bytes)
        memmove(dst, src, bytes);
    return RUNG_OK;
}

enum rung_status rung_host_fill32(struct rung_device *dev, void *ptr, uint32_t bits,
                                  size_t n_words, struct rung_err *err)
{
    uint32_t *p = ptr;
    (void)dev, (void)err;
    for (size_t i = 0; i < n_words; i++)
        p[i] = bits;
    return RUNG_OK;
}

uint64_t rung_host_mem_free(struct rung_device *dev)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    (void)dev;
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

void rung_host_cpu_name(char *out, size_t cap)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");

    snprintf(out, cap, "cpu");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(out, cap, "%s", colon + 2);
        break;
    }
    if (f)
        fclose(f);
}

static int cpu_count(struct rung_err *err)
{
    (void)err;
    return 1;
}

static enum rung_status cpu_open(const char *selector, struct rung_device **out,
                                 struct rung_err *err)
{
    if (selector && strcmp(selector, "0"))
        return rung_fail(err, RUNG_E_USAGE, "cpu:%s: there is one cpu device, cpu", selector);
    struct rung_device *dev = calloc(1, sizeof *dev);
    if (!dev)
        return rung_fail(err, RUNG_E_NOMEM, "cpu: out of memory");
    dev->ops = &rung_device_cpu;
    dev->kit = &rung_kit_host;
    snprintf(dev->info.kind, sizeof dev->info.kind, "cpu");
    rung_host_cpu_name(dev->info.name, sizeof dev->info.name);
    dev->info.index = -1;
    dev->info.mem_bytes = rung_host_mem_free(dev);
    long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    dev->info.l2_bytes = l3 > 0 ? (uint64_t)l3 : 0; /* the last level, what "warm" means */
    *out = dev;
    return RUNG_OK;
}

static void cpu_close(struct rung_device *dev)
{
    free(dev);
}

static enum rung_status cpu_alloc(struct rung_device *dev, size_t bytes, void **out,
                                  struct rung_err *err)
{
    (void)dev;
    int e = posix_memalign(out, 256, bytes ? bytes : 1);
    if (e)
        return rung_fail(err, RUNG_E_NOMEM, "cannot allocate %zu bytes: %s", bytes, strerror(e));
    return RUNG_OK;
}

static void cpu_free(struct rung_device *dev, void *ptr)
{
    (void)dev;
    free(ptr);
}

static enum rung_status cpu_nothing(struct rung_device *dev, struct rung_err *err)
{
    (void)dev, (void)err;
    return RUNG_OK;
}

static enum rung_status cpu_timer_create(struct rung_device *dev, struct rung_timer **out,
                                         struct rung_err *err)
{
    (void)dev;
    *out = calloc(1, sizeof **out);
    return *out ? RUNG_OK : rung_fail(err, RUNG_E_NOMEM, "timer: out of memory");
}

static void cpu_timer_destroy(struct rung_device *dev, struct rung_timer *t)
{
    (void)dev;
    free(t);
}

static enum rung_status cpu_timer_start(struct rung_device *dev, struct rung_timer *t,
                                        struct rung_err *err)
{
    (void)dev, (void)err;
    clock_gettime(CLOCK_MONOTONIC, &t->start);
    return RUNG_OK;
}

static enum rung_status cpu_timer_stop(struct rung_device *dev, struct rung_timer *t,
                                       struct rung_err *err)
{
    (void)dev, (void)err;
    clock_gettime(CLOCK_MONOTONIC, &t->stop);
    return RUNG_OK;
}

static enum rung_status cpu_timer_ms(struct rung_device *dev, struct rung_timer *t, double *ms,
                                     struct rung_err *err)
{
    (void)dev, (void)err;
    *ms = (double)(t->stop.tv_sec - t->start.tv_sec) * 1e3 +
          (double)(t->stop.tv_nsec - t->start.tv_nsec) * 1e-6;
    return RUNG_OK;
}

static enum rung_status cpu_copy_enqueue(struct rung_device *dev, enum rung_copy_how how, void *dst,
                                         const void *src, size_t bytes, struct rung_err *err)
{
    (void)dev, (void)how, (void)err; /* memcpy is the fastest copy there is here */
    memcpy(dst, src, bytes);
    return RUNG_OK;
}

const struct rung_device_ops rung_device_cpu = {
    .kind = "cpu",
    .has_time = true,
    .count = cpu_count,
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy = rung_host_copy,
    .fill32 = rung_host_fill32,
    .mem_free = rung_host_mem_free,
    .sync = cpu_nothing,
    .launched = cpu_nothing,
    .timer_create = cpu_timer_create,
    .timer_destroy = cpu_timer_destroy,
    .timer_start = cpu_timer_start,
    .timer_stop = cpu_timer_stop,
    .timer_ms = cpu_timer_ms,
    .n_copies = 1,
    .copy_enqueue = cpu_copy_enqueue,
};
