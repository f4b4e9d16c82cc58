/* The driver's management library, loaded at run time: a machine without it degrades to
 * "clocks unknown". The GPU is matched by UUID, never by index (the orders differ). */
#ifndef RUNG_NVML_H
#define RUNG_NVML_H

#include "status.h"

struct rung_nvml_state {
    char driver[96];
    unsigned sm_mhz, sm_max_mhz, mem_mhz, temperature_c;
    double power_w, power_limit_w;
    int ecc, mig, persistence; /* 1 on, 0 off, -1 unknown */
    int other_processes;       /* compute processes that are not this one */
    bool throttle_bad;         /* thermal or hardware slowdown */
    char throttle_text[160];   /* active reasons in words; empty if none */
};

/* What changes while kernels run. */
struct rung_nvml_sample {
    unsigned sm_mhz, temperature_c;
    double power_w;
    unsigned long long reasons; /* for the two functions below */
};

struct rung_nvml;

/* Opened once, asked often. Not for several threads at once. */
enum rung_status rung_nvml_open(const char *uuid, struct rung_nvml **out, struct rung_err *err);
void rung_nvml_close(struct rung_nvml *n);
void rung_nvml_state(struct rung_nvml *n, struct rung_nvml_state *out);
void rung_nvml_sample(struct rung_nvml *n, struct rung_nvml_sample *out);
bool rung_nvml_slowdown(unsigned long long reasons);  /* heat or hardware: times are void */
bool rung_nvml_power_cap(unsigned long long reasons); /* steady, valid, worth a flag */

enum rung_status rung_nvml_read(const char *uuid, struct rung_nvml_state *out,
                                struct rung_err *err);

#endif
