#include "nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The few declarations used, as the library's stable C interface has them. */
typedef void *nvml_device;
struct nvml_process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
enum { CLOCK_SM = 1, CLOCK_MEM = 2 };

static const struct {
    unsigned long long bit;
    const char *name;
    bool bad;
} reasons[] = {
    {0x1, "idle", false},
    {0x2, "clocks set by an application", false},
    {0x4, "software power cap", false},
    {0x8, "hardware slowdown", true},
    {0x10, "sync boost", false},
    {0x20, "software thermal slowdown", true},
    {0x40, "hardware thermal slowdown", true},
    {0x80, "hardware power brake", true},
};

struct nvml {
    void *so;
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_uuid)(const char *, nvml_device *);
    int (*driver)(char *, unsigned);
    int (*clock)(nvml_device, unsigned, unsigned *);
    int (*max_clock)(nvml_device, unsigned, unsigned *);
    int (*temperature)(nvml_device, unsigned, unsigned *);
    int (*power)(nvml_device, unsigned *);
    int (*power_limit)(nvml_device, unsigned *);
    int (*reasons)(nvml_device, unsigned long long *);
    int (*ecc)(nvml_device, unsigned *, unsigned *);
    int (*mig)(nvml_device, unsigned *, unsigned *);
    int (*persistence)(nvml_device, unsigned *);
    int (*processes)(nvml_device, unsigned *, struct nvml_process *);
};

static enum rung_status load(struct nvml *n, struct rung_err *err)
{
    const struct {
        const char *name;
        void *slot;
    } symbol[] = {
        {"nvmlInit_v2", &n->init},
        {"nvmlShutdown", &n->shutdown},
        {"nvmlDeviceGetHandleByUUID", &n->by_uuid},
        {"nvmlSystemGetDriverVersion", &n->driver},
        {"nvmlDeviceGetClockInfo", &n->clock},
        {"nvmlDeviceGetMaxClockInfo", &n->max_clock},
        {"nvmlDeviceGetTemperature", &n->temperature},
        {"nvmlDeviceGetPowerUsage", &n->power},
        {"nvmlDeviceGetEnforcedPowerLimit", &n->power_limit},
        {"nvmlDeviceGetCurrentClocksThrottleReasons", &n->reasons},
        {"nvmlDeviceGetEccMode", &n->ecc},
        {"nvmlDeviceGetMigMode", &n->mig},
        {"nvmlDeviceGetPersistenceMode", &n->persistence},
        {"nvmlDeviceGetComputeRunningProcesses_v3", &n->processes},
    };
    n->so = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->so)
        return rung_fail(err, RUNG_E_UNAVAILABLE, "libnvidia-ml.so.1 does not load (it comes "
                         "with the driver)");
    for (size_t i = 0; i < sizeof symbol / sizeof symbol[0]; i++) {
        void *p = dlsym(n->so, symbol[i].name);
        if (!p) {
            dlclose(n->so);
            return rung_fail(err, RUNG_E_UNAVAILABLE, "libnvidia-ml.so.1 has no %s: the driver "
                             "is too old", symbol[i].name);
        }
        memcpy(symbol[i].slot, &p, sizeof p);
    }
    return RUNG_OK;
}

static int on_off(int status, unsigned value)
{
    return status ? -1 : value != 0;
}

static void read_state(const struct nvml *n, nvml_device dev, struct rung_nvml_state *out)
{
    unsigned v = 0, pending = 0, count = 64;
    unsigned long long active = 0;
    struct nvml_process p[64];

    n->driver(out->driver, sizeof out->driver);
    n->clock(dev, CLOCK_SM, &out->sm_mhz);
    n->max_clock(dev, CLOCK_SM, &out->sm_max_mhz);
    n->clock(dev, CLOCK_MEM, &out->mem_mhz);
    n->temperature(dev, 0, &out->temperature_c);
    if (!n->power(dev, &v))
        out->power_w = v * 1e-3;
    if (!n->power_limit(dev, &v))
        out->power_limit_w = v * 1e-3;
    out->ecc = on_off(n->ecc(dev, &v, &pending), v);
    out->mig = on_off(n->mig(dev, &v, &pending), v);
    out->persistence = on_off(n->persistence(dev, &v), v);
    if (!n->processes(dev, &count, p))
        for (unsigned i = 0; i < count; i++)
            out->other_processes += p[i].pid != (unsigned)getpid();
    n->reasons(dev, &active);
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (!(active & reasons[i].bit))
            continue;
        const size_t used = strlen(out->throttle_text);
        snprintf(out->throttle_text + used, sizeof out->throttle_text - used, "%s%s",
                 used ? ", " : "", reasons[i].name);
        out->throttle_bad = out->throttle_bad || reasons[i].bad;
    }
}

struct rung_nvml {
    struct nvml lib;
    nvml_device dev;
};

enum rung_status rung_nvml_open(const char *uuid, struct rung_nvml **out, struct rung_err *err)
{
    struct rung_nvml *n = calloc(1, sizeof *n);
    enum rung_status s;

    if (!n)
        return rung_fail(err, RUNG_E_NOMEM, "management library: out of memory");
    s = load(&n->lib, err);
    if (!s && n->lib.init())
        s = rung_fail(err, RUNG_E_UNAVAILABLE, "the management library does not start");
    if (!s && n->lib.by_uuid(uuid, &n->dev))
        s = rung_fail(err, RUNG_E_UNAVAILABLE, "the management library knows no %s", uuid);
    if (s) {
        free(n);
        return s;
    }
    *out = n;
    return RUNG_OK;
}

/* The library itself stays loaded: it is wanted again, and starting it takes long. */
void rung_nvml_close(struct rung_nvml *n)
{
    if (!n)
        return;
    n->lib.shutdown();
    free(n);
}

void rung_nvml_state(struct rung_nvml *n, struct rung_nvml_state *out)
{
    memset(out, 0, sizeof *out);
    read_state(&n->lib, n->dev, out);
}

void rung_nvml_sample(struct rung_nvml *n, struct rung_nvml_sample *out)
{
    unsigned v = 0;
    memset(out, 0, sizeof *out);
    n->lib.clock(n->dev, CLOCK_SM, &out->sm_mhz);
    n->lib.temperature(n->dev, 0, &out->temperature_c);
    if (!n->lib.power(n->dev, &v))
        out->power_w = v * 1e-3;
    n->lib.reasons(n->dev, &out->reasons);
}

bool rung_nvml_slowdown(unsigned long long active)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if ((active & reasons[i].bit) && reasons[i].bad)
            return true;
    return false;
}

bool rung_nvml_power_cap(unsigned long long active)
{
    return active & 0x4;
}

enum rung_status rung_nvml_read(const char *uuid, struct rung_nvml_state *out,
                                struct rung_err *err)
{
    struct rung_nvml *n;
    enum rung_status s = rung_nvml_open(uuid, &n, err);
    if (s)
        return s;
    rung_nvml_state(n, out);
    rung_nvml_close(n);
    return RUNG_OK;
}
