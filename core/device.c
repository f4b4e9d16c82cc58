#include "device.h"

#include <stdio.h>
#include <string.h>

static const struct rung_device_ops *find_kind(const char *kind, size_t len)
{
    for (size_t i = 0; rung_device_kinds[i]; i++)
        if (strlen(rung_device_kinds[i]->kind) == len &&
            !memcmp(rung_device_kinds[i]->kind, kind, len))
            return rung_device_kinds[i];
    return NULL;
}

static enum rung_status open_default(bool want_time, struct rung_device **out, char *why,
                                     size_t why_cap, struct rung_err *err)
{
    const struct rung_device_ops *cuda = find_kind("cuda", 4);
    struct rung_err no_gpu = {RUNG_OK, "this build has no cuda device"};
    const char *fallback = want_time || !find_kind("emu", 3) ? "cpu" : "emu";

    if (cuda && cuda->count(&no_gpu) > 0)
        return cuda->open(NULL, out, err);
    if (why)
        snprintf(why, why_cap, "no GPU (%s): using the %s device", no_gpu.msg, fallback);
    return find_kind(fallback, 3)->open(NULL, out, err);
}

enum rung_status rung_device_open(const char *spec, bool want_time, struct rung_device **out,
                                  char *why, size_t why_cap, struct rung_err *err)
{
    if (why && why_cap)
        why[0] = '\0';
    if (!spec || !strcmp(spec, "auto"))
        return open_default(want_time, out, why, why_cap, err);

    const char *colon = strchr(spec, ':');
    size_t len = colon ? (size_t)(colon - spec) : strlen(spec);
    const struct rung_device_ops *ops = find_kind(spec, len);
    if (!ops) {
        bool known = (len == 4 && !memcmp(spec, "cuda", 4)) || (len == 3 && !memcmp(spec, "emu", 3));
        if (known)
            return rung_fail(err, RUNG_E_UNAVAILABLE,
                             "device %s: this build was configured without the %.*s device", spec,
                             (int)len, spec);
        return rung_fail(err, RUNG_E_USAGE,
                         "device '%s': expected cuda, cuda:INDEX, cuda:UUID, emu or cpu", spec);
    }
    if (colon && colon[1] == '\0')
        return rung_fail(err, RUNG_E_USAGE, "device '%s': nothing follows the colon", spec);
    return ops->open(colon ? colon + 1 : NULL, out, err);
}

void rung_device_close(struct rung_device *dev)
{
    if (dev)
        dev->ops->close(dev);
}
