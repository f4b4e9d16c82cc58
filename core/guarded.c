/* Memory with canaries on both sides. */
#include "bed.h"

#include <stdio.h>
#include <string.h>

#define GUARD ((size_t)64 << 10)

enum rung_status rung_guarded_alloc(struct rung_device *dev, const char *name, size_t payload,
                                    size_t offset, struct rung_guarded *out, struct rung_err *err)
{
    struct rung_guarded g = {.front = GUARD + offset, .payload = (payload + 3) & ~(size_t)3,
                             .back = GUARD, .name = name};
    const size_t total = g.front + g.payload + g.back;
    enum rung_status s = dev->ops->alloc(dev, total, &g.base, err);

    if (s)
        return s;
    g.data = (char *)g.base + g.front;
    s = dev->ops->fill32(dev, g.base, RUNG_CANARY_BITS, total / 4, err);
    if (s) {
        dev->ops->free(dev, g.base);
        return s;
    }
    if (dev->ops->name_region)
        dev->ops->name_region(dev, g.data, g.payload, name);
    if (dev->ops->guard) {
        dev->ops->guard(dev, g.base, g.front, true);
        dev->ops->guard(dev, (char *)g.data + g.payload, g.back, true);
    }
    *out = g;
    return RUNG_OK;
}

void rung_guarded_free(struct rung_device *dev, struct rung_guarded *g)
{
    if (!g->base)
        return;
    if (dev->ops->guard) {
        dev->ops->guard(dev, g->base, g->front, false);
        dev->ops->guard(dev, (char *)g->data + g->payload, g->back, false);
    }
    dev->ops->free(dev, g->base);
    memset(g, 0, sizeof *g);
}

enum rung_status rung_guarded_check(struct rung_device *dev, const struct rung_guarded *g,
                                    struct rung_verdict *v, struct rung_err *err)
{
    const struct {
        void *at;
        size_t bytes;
        const char *where;
    } side[2] = {{g->base, g->front, "before the start"},
                 {(char *)g->data + g->payload, g->back, "past the end"}};

    for (int i = 0; i < 2 && v->fault == RUNG_FAULT_NONE; i++) {
        const int64_t words = (int64_t)(side[i].bytes / 4);
        struct rung_view view = {side[i].at, 1, words, words};
        uint64_t bad, first;
        if (dev->ops->guard)
            dev->ops->guard(dev, side[i].at, side[i].bytes, false);
        enum rung_status s = dev->kit->scan(dev, view, RUNG_CANARY_BITS, &bad, &first, err);
        if (dev->ops->guard)
            dev->ops->guard(dev, side[i].at, side[i].bytes, true);
        if (s)
            return s;
        if (!bad)
            continue;
        const uint64_t distance = i ? first * 4 : side[i].bytes - first * 4;
        v->fault = RUNG_FAULT_OUT_OF_BOUNDS;
        snprintf(v->what, sizeof v->what, "wrote %llu words %s of %s, %s %llu bytes from it",
                 (unsigned long long)bad, side[i].where, g->name, i ? "nearest" : "farthest",
                 (unsigned long long)distance);
    }
    return RUNG_OK;
}

const char *rung_fault_name(enum rung_fault f)
{
    static const char *const name[] = {"none",      "out of bounds", "padding written",
                                       "input changed", "unwritten", "nan",
                                       "wrong value",   "caught",        "device"};
    return name[f];
}
