/* Barriers, warp collectives and asynchronous copies: who waits for whom, and whether that
 * can ever come to an end. */
#include "block.h"

#include <cstdio>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace emu {

static bool same(const site &a, const site &b)
{
    return a.line == b.line && !strcmp(a.file, b.file);
}

static void release_barrier(worker *w)
{
    int count = 0, result = 0;
    for (unsigned i = 0; i < w->n; i++)
        count += w->fibers[i].predicate != 0;
    switch (w->barrier_op) {
    case RUNG_EMU_SYNC: break;
    case RUNG_EMU_COUNT: result = count; break;
    case RUNG_EMU_AND: result = count == static_cast<int>(w->n); break;
    case RUNG_EMU_OR: result = count > 0; break;
    }
    for (unsigned i = 0; i < w->n; i++) {
        w->fibers[i].state = state::ready;
        w->fibers[i].predicate = result;
        w->fibers[i].warp_clock = 0;
    }
    w->arrived = 0;
    w->epoch++;
}

static fiber *lane(worker *w, const fiber *f, unsigned i)
{
    const unsigned at = f->index / 32 * 32 + i;
    return at < w->n ? &w->fibers[at] : nullptr;
}

/* Complete once every lane of the mask is at the same place with the same mask. */
bool warp_try(worker *w, fiber *f)
{
    unsigned ballot = 0;
    for (unsigned i = 0; i < 32; i++) {
        if (!(f->warp.mask >> i & 1))
            continue;
        const fiber *o = lane(w, f, i);
        if (o->state != state::warp)
            return false;
        if (o->warp.op != f->warp.op || o->warp.mask != f->warp.mask || !same(o->at, f->at))
            fail(&f->at, "lane %u is in another warp collective (mask %08x, %s:%d) than this "
                 "thread (mask %08x)", i, o->warp.mask, base_name(o->at.file), o->at.line,
                 f->warp.mask);
        int p = 0;
        memcpy(&p, o->warp.value, sizeof p);
        ballot |= static_cast<unsigned>(o->warp.op == RUNG_EMU_BALLOT && p != 0) << i;
    }
    for (unsigned i = 0; i < 32; i++) {
        if (!(f->warp.mask >> i & 1))
            continue;
        fiber *o = lane(w, f, i);
        if (o->warp.op == RUNG_EMU_SHUFFLE) {
            const unsigned from = o->warp.source & 31;
            if (!(f->warp.mask >> from & 1))
                fail(&o->at, "a shuffle of lane %u reads lane %u, which its mask %08x leaves out",
                     i, from, f->warp.mask);
            memcpy(o->warp.result, lane(w, f, from)->warp.value, o->warp.bytes);
        }
        o->warp.ballot = ballot;
        o->warp_clock += o->warp.op == RUNG_EMU_SYNCWARP;
        o->state = state::ready;
    }
    return true;
}

void explain_stall(worker *w)
{
    const fiber *barrier = nullptr, *warp = nullptr, *gone = nullptr;
    for (unsigned i = 0; i < w->n; i++) {
        const fiber *f = &w->fibers[i];
        barrier = f->state == state::barrier && !barrier ? f : barrier;
        warp = f->state == state::warp && !warp ? f : warp;
        gone = f->state == state::done && !gone ? f : gone;
    }
    if (warp) {
        for (unsigned i = 0; i < 32; i++) {
            const fiber *o = lane(w, warp, i);
            if (!(warp->warp.mask >> i & 1) || o->state == state::warp)
                continue;
            const bool returned = o->state == state::done;
            fail_of(w, warp, &warp->at, "a warp collective with mask %08x waits for lane %u, which %s",
                    warp->warp.mask, i, returned ? "has returned" : "waits at a barrier of the block");
            return;
        }
        fail_of(w, warp, &warp->at, "a warp collective never completes");
        return;
    }
    if (barrier && gone)
        fail_of(w, barrier, &barrier->at, "a barrier that not all threads of the block reach: "
                "thread (%u,%u,%u) has returned", gone->pub.thread_index.x,
                gone->pub.thread_index.y, gone->pub.thread_index.z);
}

/* Bytes a runtime call reads or writes for a kernel, checked as the kernel's own would be. */
static void check_bytes(const void *p, size_t bytes, const char *what, const site &at)
{
#if defined(__SANITIZE_ADDRESS__)
    if (__asan_region_is_poisoned(const_cast<void *>(p), bytes)) {
        char where[160];
        describe_address(p, where, sizeof where);
        fail(&at, "%s outside its memory: %s", what, where);
    }
#else
    (void)p, (void)bytes, (void)what, (void)at;
#endif
}

static void copy_now(const async_copy &c)
{
    if (c.valid)
        check_bytes(c.from, c.bytes, "cp.async reads", c.at);
    check_bytes(c.to, c.bytes, "cp.async writes", c.at);
    if (c.valid)
        memcpy(c.to, c.from, c.bytes);
    else
        memset(c.to, 0, c.bytes);
    races_copy_done(c);
}

void copies_end(fiber *f)
{
    if (!f->copies.empty())
        fail(&f->copies[0].at, "returns with %zu cp.async not waited for", f->copies.size());
}

} // namespace emu

using namespace emu;

extern "C" {

int rung_emu_barrier(int predicate, enum rung_emu_barrier_op op, const char *file, int line)
{
    worker *w = here();
    fiber *f = w->current;
    f->at = {file, line};
    f->predicate = predicate;
    if (!w->arrived) {
        w->first_at_barrier = f;
        w->barrier_op = op;
    }
    const fiber *o = w->first_at_barrier;
    if (w->barrier_op != op || !same(o->at, f->at))
        fail(&f->at, "a barrier that not all threads of the block reach: thread (%u,%u,%u) waits at "
             "another one, %s:%d", o->pub.thread_index.x, o->pub.thread_index.y,
             o->pub.thread_index.z, base_name(o->at.file), o->at.line);
    f->state = state::barrier;
    if (++w->arrived == w->n)
        release_barrier(w);
    yield(f);
    return f->predicate;
}

unsigned rung_emu_warp(unsigned mask, enum rung_emu_warp_op op, const void *value, size_t bytes,
                       unsigned source, void *result, const char *file, int line)
{
    worker *w = here();
    fiber *f = w->current;
    const unsigned first = f->index / 32 * 32;
    const unsigned lanes = w->n - first >= 32 ? ~0u : (1u << (w->n - first)) - 1;

    f->at = {file, line};
    if (!(mask >> f->pub.lane & 1))
        fail(&f->at, "mask %08x leaves out lane %u, which calls", mask, f->pub.lane);
    if (mask & ~lanes)
        fail(&f->at, "mask %08x names lanes that this warp does not have", mask);
    f->warp.mask = mask;
    f->warp.op = op;
    f->warp.source = source;
    f->warp.bytes = static_cast<unsigned>(bytes);
    if (bytes)
        memcpy(f->warp.value, value, bytes);
    f->state = state::warp;
    if (!warp_try(w, f))
        yield(f);
    if (result)
        memcpy(result, f->warp.result, bytes);
    return f->warp.ballot;
}

void rung_emu_copy_async(void *to, const void *from, unsigned bytes, bool valid, const char *file,
                         int line)
{
    worker *w = here();
    fiber *f = w->current;
    const site at = {file, line};
    if (reinterpret_cast<uintptr_t>(to) % bytes || (valid && reinterpret_cast<uintptr_t>(from) % bytes))
        fail(&at, "cp.async of %u bytes %s an address that is not a multiple of it", bytes,
             reinterpret_cast<uintptr_t>(to) % bytes ? "to" : "from");
    const async_copy c = {to, from, bytes, f->groups, valid, at};
    if (w->now->options.eager_copy) {
        copy_now(c);
    } else {
        races_copy_issued(c);
        f->copies.push_back(c);
    }
}

void rung_emu_copy_commit(void)
{
    here()->current->groups++;
}

void rung_emu_copy_wait(unsigned pending)
{
    fiber *f = here()->current;
    size_t done = 0;
    while (done < f->copies.size() && f->copies[done].group + pending < f->groups)
        copy_now(f->copies[done++]);
    f->copies.erase(f->copies.begin(), f->copies.begin() + static_cast<long>(done));
}

void rung_emu_atomic(const void *at, size_t bytes, const char *file, int line)
{
    if (here())
        races_atomic(at, bytes, {file, line});
}
}
