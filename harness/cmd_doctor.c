/* rung doctor: findings about this machine, each with what it means and what to do. */
#include "device.h"
#include "json.h"
#include "nvml.h"
#include "options.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum level { GOOD, NOTE, BAD };

struct doctor {
    const struct rung_options *o;
    json_t *rows;
    int bad;
};

static void say(struct doctor *d, enum level level, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void say(struct doctor *d, enum level level, const char *what, const char *fmt, ...)
{
    static const char *const name[] = {"ok", "note", "bad"};
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    d->bad += level == BAD;
    if (d->rows) {
        json_t *e = rung_json_append(d->rows);
        rung_json_text(e, "level", name[level]);
        rung_json_text(e, "what", what);
        rung_json_text(e, "finding", line);
    } else {
        printf("%-5s %-18s %s\n", name[level], what, line);
    }
}

/* A library that kernels or features load at run time. */
static void library(struct doctor *d, const char *what, const char *const *names,
                    const char *without)
{
    for (size_t i = 0; names[i]; i++) {
        /* Not closed again: some of these leave memory and threads behind. */
        if (!dlopen(names[i], RTLD_LAZY | RTLD_LOCAL))
            continue;
        say(d, GOOD, what, "%s loads", names[i]);
        return;
    }
    say(d, NOTE, what, "%s does not load: %s", names[0], without);
}

/* What the emu device of this build can see. */
static void emu(struct doctor *d)
{
    struct rung_device *dev;
    struct rung_err err;
    if (rung_device_open("emu", false, &dev, NULL, 0, &err)) {
        say(d, NOTE, "emu", "%s", err.msg);
        return;
    }
    say(d, GOOD, "emu", "%s", dev->info.name);
    rung_device_close(dev);
}

/* The driver lets only administrators read the performance counters unless told otherwise. */
static void counters(struct doctor *d)
{
    char line[256];
    unsigned long long caps = 0;
    int restricted = -1;
    FILE *f = fopen("/proc/driver/nvidia/params", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "RmProfilingAdminOnly: %d", &restricted);
    if (f)
        fclose(f);
    f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "CapEff: %llx", &caps);
    if (f)
        fclose(f);
    const bool admin = caps >> 21 & 1;
    if (restricted < 0)
        say(d, NOTE, "counters", "unknown: the driver shows no parameters (no driver, or a "
            "sandboxed kernel); ncu may find none");
    else if (restricted && !admin)
        say(d, NOTE, "counters", "for administrators only, and this process has no CAP_SYS_ADMIN: "
            "ncu will print normally and write no report; run as root on the host, or rent a "
            "machine that allows it");
    else
        say(d, GOOD, "counters", "%s; only a real ncu run proves it",
            restricted ? "for administrators only, which this process is" : "open to every user");
}

static void clocks(struct doctor *d, const struct rung_device_info *info)
{
    struct rung_nvml_state s;
    struct rung_err err;
    if (rung_nvml_read(info->uuid, &s, &err)) {
        say(d, NOTE, "clocks", "unknown: %s", err.msg);
        return;
    }
    say(d, GOOD, "driver", "%s", s.driver);
    say(d, GOOD, "clocks", "SM %u of %u MHz now, memory %u MHz, %u °C, %.0f of %.0f W",
        s.sm_mhz, s.sm_max_mhz, s.mem_mhz, s.temperature_c, s.power_w, s.power_limit_w);
    if (s.throttle_bad)
        say(d, BAD, "throttling", "the GPU reports %s: figures taken now mean nothing",
            s.throttle_text);
    else
        say(d, GOOD, "throttling", "%s", s.throttle_text[0] ? s.throttle_text : "none");
    say(d, s.ecc == 1 ? GOOD : NOTE, "ECC", "%s",
        s.ecc == 1 ? "on" : s.ecc == 0 ? "off: bandwidth compares only with cards that have it off"
                                       : "unknown");
    say(d, s.mig == 1 ? NOTE : GOOD, "MIG", "%s",
        s.mig == 1 ? "on: this may be a slice of the GPU, whose ceilings are not the card's" : "off");
    say(d, s.persistence == 0 ? NOTE : GOOD, "persistence", "%s",
        s.persistence == 1 ? "on" : s.persistence == 0 ? "off: the first call of a process is slower"
                                                       : "unknown");
    say(d, s.other_processes > 0 ? NOTE : GOOD, "other processes", "%d on this GPU%s",
        s.other_processes, s.other_processes > 0 ? ": they disturb every figure" : "");
}

static void gpu(struct doctor *d)
{
    struct rung_device *dev = NULL;
    struct rung_err err;
    char spec[64];
    bool asked = d->o->device && !strncmp(d->o->device, "cuda", 4);

    snprintf(spec, sizeof spec, "%s", asked ? d->o->device : "cuda");
    if (rung_device_open(spec, true, &dev, NULL, 0, &err)) {
        say(d, asked ? BAD : NOTE, "GPU", "%s", err.msg);
        return;
    }
    const struct rung_device_info *i = &dev->info;
    say(d, GOOD, "GPU", "%s, sm_%u, %u SM, %.1f GiB, L2 %.0f MiB, %s, %s", i->name, i->sm,
        i->sm_count, (double)i->mem_bytes / (1u << 30), (double)i->l2_bytes / (1u << 20), i->uuid,
        i->pci);
    say(d, i->driver_version >= i->runtime_version ? GOOD : NOTE, "CUDA",
        "driver %d.%d, runtime of this binary %d.%d%s", i->driver_version / 1000,
        i->driver_version % 1000 / 10, i->runtime_version / 1000, i->runtime_version % 1000 / 10,
        i->driver_version >= i->runtime_version ? "" : ": the driver is older, update it");
    clocks(d, i);
    rung_device_close(dev);
}

int cmd_doctor(const struct rung_options *o)
{
    static const char *const cublas[] = {"libcublas.so.13", "libcublas.so.12", NULL};
    static const char *const openblas[] = {"libopenblas.so.0", "libopenblas.so", NULL};
    struct doctor d = {.o = o};
    json_t *root = NULL;
    const char *tf32 = getenv("NVIDIA_TF32_OVERRIDE");

    if (o->json) {
        root = json_object();
        d.rows = rung_json_array_in(root, "findings");
    }
    gpu(&d);
    say(&d, tf32 && !strcmp(tf32, "0") ? GOOD : BAD, "TF32", "NVIDIA_TF32_OVERRIDE is %s",
        tf32 ? tf32 : "not set");
    counters(&d);
    library(&d, "cuBLAS", cublas, "k0 and every ratio against it are unavailable; install the "
            "toolkit's cuBLAS, or point RUNG_CUBLAS at libcublas.so");
    library(&d, "OpenBLAS", openblas, "c0 and every ratio against it are unavailable; install "
            "libopenblas0");
    emu(&d);
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    double load[1] = {0};
    if (getloadavg(load, 1) == 1)
        say(&d, load[0] > 0.5 * (double)cpus ? NOTE : GOOD, "load", "%.2f on %ld CPUs%s", load[0],
            cpus, load[0] > 0.5 * (double)cpus ? ": times of the cpu device will scatter" : "");
    if (root)
        rung_json_print(root);
    return d.bad ? RUNG_EXIT_FAILURE : RUNG_EXIT_OK;
}
