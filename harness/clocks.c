#include "clocks.h"

#include "nvml.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PERIOD_MS 25
#define KEPT 4096 /* 100 s; older ones are overwritten */

struct stamped {
    double at;
    struct rung_nvml_sample sample;
};

struct rung_clocks {
    struct rung_nvml *nvml;
    pthread_t thread;
    pthread_mutex_t lock;
    bool stop;
    struct stamped ring[KEPT];
    size_t n; /* ever taken */
};

double rung_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *sample(void *arg)
{
    struct rung_clocks *c = arg;
    const struct timespec pause = {0, PERIOD_MS * 1000000L};
    for (;;) {
        struct stamped s;
        rung_nvml_sample(c->nvml, &s.sample);
        s.at = rung_now();
        pthread_mutex_lock(&c->lock);
        const bool stop = c->stop;
        c->ring[c->n++ % KEPT] = s;
        pthread_mutex_unlock(&c->lock);
        if (stop)
            return NULL;
        nanosleep(&pause, NULL);
    }
}

struct rung_clocks *rung_clocks_start(const char *uuid, char *why, size_t cap)
{
    struct rung_clocks *c = calloc(1, sizeof *c);
    struct rung_err err;

    if (cap)
        why[0] = '\0';
    if (!c)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    if (!uuid || !uuid[0]) {
        snprintf(why, cap, "this device has no clock sensor");
    } else if (rung_nvml_open(uuid, &c->nvml, &err)) {
        snprintf(why, cap, "%.*s", (int)cap - 1, err.msg);
    } else if (pthread_create(&c->thread, NULL, sample, c)) {
        snprintf(why, cap, "the sampling thread does not start");
        rung_nvml_close(c->nvml);
        c->nvml = NULL;
    }
    return c;
}

void rung_clocks_stop(struct rung_clocks *c)
{
    if (!c)
        return;
    if (c->nvml) {
        pthread_mutex_lock(&c->lock);
        c->stop = true;
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->thread, NULL);
        rung_nvml_close(c->nvml);
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void rung_clocks_window(struct rung_clocks *c, double from, double to,
                        struct rung_clock_window *out)
{
    memset(out, 0, sizeof *out);
    if (!c || !c->nvml)
        return;
    pthread_mutex_lock(&c->lock);
    const size_t first = c->n > KEPT ? c->n - KEPT : 0;
    for (size_t i = c->n; i > first && c->ring[(i - 1) % KEPT].at >= from; i--) {
        const struct stamped *s = &c->ring[(i - 1) % KEPT];
        const double mhz = s->sample.sm_mhz;
        if (s->at > to)
            continue;
        out->sm_mhz_min = !out->samples || mhz < out->sm_mhz_min ? mhz : out->sm_mhz_min;
        out->sm_mhz_max = mhz > out->sm_mhz_max ? mhz : out->sm_mhz_max;
        out->power_w_mean += s->sample.power_w;
        if (s->sample.temperature_c > out->temperature_c_max)
            out->temperature_c_max = s->sample.temperature_c;
        out->slowdown = out->slowdown || rung_nvml_slowdown(s->sample.reasons);
        out->power_cap = out->power_cap || rung_nvml_power_cap(s->sample.reasons);
        out->samples++;
    }
    pthread_mutex_unlock(&c->lock);
    if (out->samples)
        out->power_w_mean /= out->samples;
}
