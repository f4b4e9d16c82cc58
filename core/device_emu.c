/* The emu device: CUDA kernels run on the CPU by the block scheduler of core/emu/. It checks;
 * it has no time. Memory comes from the scheduler, which knows its bounds. */
#include "device_host.h"

#include "emu/emu_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel that takes longer between two barriers hangs. RUNG_EMU_TIMEOUT sets another. */
static double emu_timeout(void)
{
    const char *asked = getenv("RUNG_EMU_TIMEOUT");
    const double s = asked ? strtod(asked, NULL) : 0.0;
    return s > 0.0 ? s : 120.0;
}

static void emu_set_order(struct rung_device *dev, int order)
{
    const struct rung_emu_options o = {.order = order, .seed = 1, .timeout_s = emu_timeout()};
    (void)dev;
    rung_emu_set_options(&o);
}

static int emu_count(struct rung_err *err)
{
    (void)err;
    return 1;
}

static enum rung_status emu_open(const char *selector, struct rung_device **out,
                                 struct rung_err *err)
{
    if (selector && strcmp(selector, "0"))
        return rung_fail(err, RUNG_E_USAGE, "emu:%s: there is one emu device, emu", selector);
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return rung_fail(err, RUNG_E_UNAVAILABLE, "emu: this CPU has no AVX2 and FMA, which the "
                         "emulated kernels were compiled for");
    struct rung_device *dev = calloc(1, sizeof *dev);
    if (!dev)
        return rung_fail(err, RUNG_E_NOMEM, "emu: out of memory");
    dev->ops = &rung_device_emu;
    dev->kit = &rung_kit_host;
    snprintf(dev->info.kind, sizeof dev->info.kind, "emu");
    snprintf(dev->info.name, sizeof dev->info.name, "threads as fibers, watching %s",
             rung_emu_watches());
    dev->info.index = -1;
    dev->info.mem_bytes = rung_host_mem_free(dev);
    /* What the portable paths may assume: an Ampere-class block. */
    dev->info.smem_block_max = 99 << 10;
    emu_set_order(dev, 0);
    *out = dev;
    return RUNG_OK;
}

static void emu_close(struct rung_device *dev)
{
    free(dev);
}

static enum rung_status emu_alloc(struct rung_device *dev, size_t bytes, void **out,
                                  struct rung_err *err)
{
    (void)dev;
    *out = rung_emu_alloc(bytes ? bytes : 1);
    return *out ? RUNG_OK : rung_fail(err, RUNG_E_NOMEM, "cannot allocate %zu bytes", bytes);
}

static void emu_free(struct rung_device *dev, void *ptr)
{
    (void)dev;
    rung_emu_free(ptr);
}

static enum rung_status emu_error(struct rung_device *dev, struct rung_err *err)
{
    char msg[RUNG_MSG_MAX];
    (void)dev;
    enum rung_status s = rung_emu_take_error(msg, sizeof msg);
    return s ? rung_fail(err, s, "%s", msg) : RUNG_OK;
}

static enum rung_status no_timer(struct rung_device *dev, struct rung_timer **out,
                                 struct rung_err *err)
{
    (void)dev, (void)out;
    return rung_fail(err, RUNG_E_UNAVAILABLE, "the emu device has no time");
}

static void emu_guard(struct rung_device *dev, void *ptr, size_t bytes, bool forbidden)
{
    (void)dev;
    if (forbidden)
        rung_emu_poison(ptr, bytes);
    else
        rung_emu_unpoison(ptr, bytes);
}

static void emu_name_region(struct rung_device *dev, void *ptr, size_t bytes, const char *name)
{
    (void)dev;
    rung_emu_region_name(ptr, bytes, name);
}

const struct rung_device_ops rung_device_emu = {
    .kind = "emu",
    .has_time = false,
    .count = emu_count,
    .open = emu_open,
    .close = emu_close,
    .alloc = emu_alloc,
    .free = emu_free,
    .copy = rung_host_copy,
    .fill32 = rung_host_fill32,
    .mem_free = rung_host_mem_free,
    .sync = emu_error,
    .launched = emu_error,
    .timer_create = no_timer,
    .guard = emu_guard,
    .name_region = emu_name_region,
    .n_orders = RUNG_EMU_ORDERS,
    .set_order = emu_set_order,
};
