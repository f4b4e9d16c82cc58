#include "runner.h"

#include "log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NOTES 16

struct note {
    char key[48], value[480];
};

struct rung_session {
    struct rung_bed *bed;
    const struct rung_plugin *plugin;
    struct rung_env env;
    struct rung_err failure; /* what env->fail recorded */
    struct rung_set *set;    /* the bed's, with this kernel's workspaces */
    struct rung_guarded *workspace;
    uint32_t n_sets;
    void *state;
    bool prepared;
    struct note note[MAX_NOTES];
    size_t n_notes;
};

static enum rung_status env_fail(void *ctx, enum rung_status code, const char *fmt, ...)
{
    struct rung_session *s = ctx;
    va_list ap;
    va_start(ap, fmt);
    rung_vfail(&s->failure, code, fmt, ap);
    va_end(ap);
    return code;
}

static void env_log(void *ctx, enum rung_log_level level, const char *fmt, ...)
{
    struct rung_session *s = ctx;
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    rung_log(level, "%s: %s", s->plugin->id, line);
}

static void env_note(void *ctx, const char *key, const char *value)
{
    struct rung_session *s = ctx;
    if (s->n_notes == MAX_NOTES)
        return;
    struct note *n = &s->note[s->n_notes++];
    snprintf(n->key, sizeof n->key, "%s", key);
    snprintf(n->value, sizeof n->value, "%s", value);
}

enum rung_status rung_can_run(const struct rung_plugin *p, const struct rung_device *dev,
                              const struct rung_case *c, struct rung_err *err)
{
    struct rung_case here = *c;
    char reason[RUNG_REASON_MAX] = "";

    if (strcmp(p->target, dev->ops->kind))
        return rung_fail(err, RUNG_E_UNAVAILABLE, "%s is built for %s, not for %s", p->id,
                         p->target, dev->ops->kind);
    if (dev->info.sm && dev->info.sm < p->sm_floor)
        return rung_fail(err, RUNG_E_UNAVAILABLE, "%s needs sm_%u, %s is sm_%u", p->id,
                         p->sm_floor, dev->info.name, dev->info.sm);
    here.sm = dev->info.sm;
    here.sm_count = dev->info.sm_count;
    if (p->accepts && !p->accepts(&here, reason, sizeof reason))
        return rung_fail(err, RUNG_E_REFUSED, "%s", reason[0] ? reason : "refused without a reason");
    return RUNG_OK;
}

static enum rung_status prepare(struct rung_session *s, struct rung_err *err)
{
    const struct rung_case *c = rung_bed_case(s->bed);
    struct rung_device *dev = rung_bed_device(s->bed);

    s->state = (void *)c;
    if (!s->plugin->prepare) {
        s->prepared = true;
        return RUNG_OK;
    }
    enum rung_status st = s->plugin->prepare(&s->env, c, s->set, s->n_sets, &s->state);
    if (st)
        return rung_fail(err, st, "%s",
                         s->failure.msg[0] ? s->failure.msg : "prepare failed without a message");
    s->prepared = true;
    st = dev->ops->launched(dev, err);
    return st ? st : dev->ops->sync(dev, err);
}

enum rung_status rung_session_open(struct rung_bed *bed, const struct rung_plugin *p,
                                   struct rung_session **out, struct rung_err *err)
{
    struct rung_device *dev = rung_bed_device(bed);
    const struct rung_case *c = rung_bed_case(bed);
    enum rung_status st = rung_can_run(p, dev, c, err);
    if (st)
        return st;

    struct rung_session *s = calloc(1, sizeof *s);
    if (!s)
        return rung_fail(err, RUNG_E_NOMEM, "session: out of memory");
    const struct rung_set *sets = rung_bed_sets(bed, &s->n_sets);
    s->bed = bed;
    s->plugin = p;
    s->env = (struct rung_env){
        .struct_size = sizeof s->env,
        .device_kind = dev->ops->kind,
        .device_name = dev->info.name,
        .device_index = dev->info.index,
        .sm = dev->info.sm,
        .sm_count = dev->info.sm_count,
        .l2_bytes = dev->info.l2_bytes,
        .smem_block_max = dev->info.smem_block_max,
        .stream = dev->stream,
        .ctx = s,
        .fail = env_fail,
        .log = env_log,
        .note = env_note,
    };
    s->set = calloc(s->n_sets, sizeof *s->set);
    s->workspace = calloc(s->n_sets, sizeof *s->workspace);
    if (!s->set || !s->workspace) {
        st = rung_fail(err, RUNG_E_NOMEM, "session: out of memory");
        goto undo_session;
    }
    memcpy(s->set, sets, s->n_sets * sizeof *s->set);
    const size_t bytes = p->workspace_bytes ? p->workspace_bytes(c) : 0;
    for (uint32_t i = 0; i < s->n_sets && bytes; i++) {
        st = rung_guarded_alloc(dev, "workspace", bytes, 0, &s->workspace[i], err);
        if (st)
            goto undo_session;
        s->set[i].workspace = s->workspace[i].data;
        s->set[i].workspace_bytes = bytes;
    }
    st = prepare(s, err);
    if (st)
        goto undo_session;
    *out = s;
    return RUNG_OK;

undo_session:
    rung_session_close(s);
    return st;
}

void rung_session_close(struct rung_session *s)
{
    if (!s)
        return;
    struct rung_device *dev = rung_bed_device(s->bed);
    dev->ops->sync(dev, NULL);
    if (s->prepared && s->plugin->finish)
        s->plugin->finish(s->state);
    for (uint32_t i = 0; s->workspace && i < s->n_sets; i++)
        rung_guarded_free(dev, &s->workspace[i]);
    free(s->workspace);
    free(s->set);
    free(s);
}

const struct rung_plugin *rung_session_plugin(const struct rung_session *s)
{
    return s->plugin;
}

bool rung_session_note(const struct rung_session *s, size_t i, const char **key,
                       const char **value)
{
    if (i >= s->n_notes)
        return false;
    *key = s->note[i].key;
    *value = s->note[i].value;
    return true;
}

enum rung_status rung_session_launch(struct rung_session *s, uint32_t set, struct rung_err *err)
{
    struct rung_device *dev = rung_bed_device(s->bed);
    s->failure.msg[0] = '\0';
    enum rung_status st = s->plugin->launch(s->state, &s->set[set], dev->stream);
    enum rung_status pending = dev->ops->launched(dev, err);

    if (st && s->failure.msg[0])
        return rung_fail(err, st, "%s", s->failure.msg);
    if (st && !pending)
        return rung_fail(err, st, "launch failed without a message (%s)", rung_status_name(st));
    return st ? st : pending;
}

enum rung_status rung_session_task(void *ctx, uint32_t set, struct rung_err *err)
{
    return rung_session_launch(ctx, set, err);
}

static enum rung_status launch_and_wait(struct rung_session *s, uint32_t set,
                                        struct rung_err *err)
{
    struct rung_device *dev = rung_bed_device(s->bed);
    enum rung_status st = rung_session_launch(s, set, err);
    return st ? st : dev->ops->sync(dev, err);
}

/* A launch that fails is a verdict about the kernel. */
static void launch_to_verdict(struct rung_session *s, uint32_t set, struct rung_verdict *out)
{
    struct rung_err failed;
    if (launch_and_wait(s, set, &failed)) {
        out->fault = failed.code == RUNG_E_WRONG ? RUNG_FAULT_CAUGHT : RUNG_FAULT_DEVICE;
        snprintf(out->what, sizeof out->what, "%.*s", (int)sizeof out->what - 1, failed.msg);
    }
}

static enum rung_status output_sum(struct rung_session *s, uint32_t set, uint64_t *sum,
                                   struct rung_err *err)
{
    struct rung_device *dev = rung_bed_device(s->bed);
    const uint32_t at = rung_family_find(rung_bed_case(s->bed)->family)->output;
    const struct rung_operand *o = &s->set[set].operand[at];
    const struct rung_view v = {o->data, o->dim[0], o->dim[1], o->stride[0]};
    return dev->kit->checksum(dev, v, sum, err);
}

/* On a device that can run threads in several orders: the same bits in each. */
static enum rung_status verify_orders(struct rung_session *s, uint32_t set,
                                      struct rung_verdict *out, struct rung_err *err)
{
    struct rung_device *dev = rung_bed_device(s->bed);
    uint64_t first, sum;
    enum rung_status st = output_sum(s, set, &first, err);

    for (int i = 1; i < dev->ops->n_orders && !st && !out->fault; i++) {
        dev->ops->set_order(dev, i);
        st = rung_bed_reset(s->bed, set, err);
        if (!st)
            launch_to_verdict(s, set, out);
        if (!st && !out->fault)
            st = output_sum(s, set, &sum, err);
        if (st || out->fault || sum == first)
            continue;
        out->fault = RUNG_FAULT_CAUGHT;
        snprintf(out->what, sizeof out->what, "the result depends on the order in which threads "
                 "run: other bits when it is %s", i == 1 ? "reversed" : "shuffled");
    }
    dev->ops->set_order(dev, 0);
    return st;
}

enum rung_status rung_session_verify(struct rung_session *s, enum rung_dataset data,
                                     uint64_t seed, uint32_t set, struct rung_verdict *out,
                                     struct rung_err *err)
{
    struct rung_device *dev = rung_bed_device(s->bed);
    enum rung_status st = rung_bed_load(s->bed, data, seed, err);

    if (!st)
        launch_to_verdict(s, set, out);
    if (st || out->fault)
        return st;
    for (uint32_t i = 0; i < s->n_sets && s->workspace[i].base && !out->fault; i++)
        if ((st = rung_guarded_check(dev, &s->workspace[i], out, err)))
            return st;
    st = rung_bed_check(s->bed, set, out, err);
    if (!st && !out->fault && dev->ops->n_orders && data == RUNG_DATA_FLOATS)
        st = verify_orders(s, set, out, err);
    return st;
}

/* Special values are few and the same at any size: only cases that are quickly filled. */
static bool special(const struct rung_case *c)
{
    return rung_family_find(c->family)->special && c->dim[0] * c->dim[1] <= 1 << 20 &&
           c->dim[0] <= 256;
}

enum rung_status rung_session_verify_all(struct rung_session *s, uint64_t seed, uint32_t set,
                                         struct rung_verdict *out, struct rung_err *err)
{
    memset(out, 0, sizeof *out);
    enum rung_status st = rung_session_verify(s, RUNG_DATA_INTS, seed, set, out, err);
    if (!st && !out->fault)
        st = rung_session_verify(s, RUNG_DATA_FLOATS, seed + 1, set, out, err);
    if (!st && !out->fault && special(rung_bed_case(s->bed)))
        st = rung_session_verify(s, RUNG_DATA_SPECIAL, seed + 2, set, out, err);
    return st;
}
