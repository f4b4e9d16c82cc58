/*
 * Races, found from what each thread touches and the barriers between, not from how a run happens
 * to interleave: kernels are compiled with -fsanitize=thread, whose calls are answered here instead of
 * by ThreadSanitizer's runtime, which is not linked (it loses track of blocks of 256 fibers).
 *
 * For every word the last write and two reads by different threads are kept, each with its block,
 * the barriers that block had passed and the __syncwarps that thread had. Two accesses of
 * different threads, one of them a write, are ordered by a barrier of the block between them, by a
 * __syncwarp within a warp, by the end of a launch, and by nothing else.
 */
#include "block.h"

#if !defined(RUNG_EMU_RACES)

namespace emu {
void races_block_begin(worker *) {}
void races_copy_issued(const async_copy &) {}
void races_copy_done(const async_copy &) {}
void races_atomic(const void *, size_t, const site &) {}
void races_free(const void *, size_t) {}
} // namespace emu

#else

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <memory>
#include <unordered_map>

namespace emu {
namespace {

struct access {
    uint64_t block = 0; /* 0: none */
    unsigned thread = 0, epoch = 0, warp_clock = 0;
    bool atomic = false;
    const void *pc = nullptr; /* where, unless `at` says it */
    site at;
};
struct cell {
    access write, read[2];
    bool copying = false; /* a cp.async has been issued and not waited for */
};
enum class scope { global, shared, other };
struct shadow {
    emu::scope scope;
    cell cells[1024];
};

std::unordered_map<uintptr_t, std::unique_ptr<shadow>> pages;
struct {
    uintptr_t number;
    shadow *page;
} recent[64];
uint64_t launch_begin = 0; /* blocks before this one belong to launches that have ended */

/* Is this a static variable that starts as zeros? Shared arrays are. */
int find_bss(struct dl_phdr_info *info, size_t, void *arg)
{
    const uintptr_t at = *static_cast<const uintptr_t *>(arg);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &p = info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + p.p_vaddr;
        if (p.p_type == PT_LOAD && (p.p_flags & PF_W) && at >= start + p.p_filesz &&
            at < start + p.p_memsz)
            return 1;
    }
    return 0;
}

scope scope_of(const worker *w, uintptr_t at)
{
    const uintptr_t dynamic = reinterpret_cast<uintptr_t>(w->dynamic_start);
    if (in_device_memory(reinterpret_cast<const void *>(at)))
        return scope::global;
    if (at - dynamic < w->now->spec->smem || dl_iterate_phdr(find_bss, &at))
        return scope::shared;
    return scope::other;
}

shadow *page_of(const worker *w, uintptr_t at)
{
    const uintptr_t number = at >> 12;
    auto &r = recent[number % 64];
    if (r.page && r.number == number)
        return r.page;
    auto &p = pages[number];
    if (!p) {
        p = std::make_unique<shadow>();
        p->scope = scope_of(w, at);
    }
    r = {number, p.get()};
    return p.get();
}

bool ordered(const access &a, const access &now, scope s)
{
    if (!a.block || (a.block == now.block && a.thread == now.thread) || (a.atomic && now.atomic))
        return true;
    if (a.block != now.block)
        return s == scope::shared || a.block < launch_begin;
    return a.epoch < now.epoch ||
           (a.thread / 32 == now.thread / 32 && a.warp_clock < now.warp_clock);
}

void place(const access &a, char *out, size_t cap)
{
    if (a.pc)
        source_of(a.pc, out, cap);
    else
        snprintf(out, cap, "at %s:%d", base_name(a.at.file), a.at.line);
}

/* Name of the variable at an address, by nm. */
void variable(const void *p, scope s, char *out, size_t cap)
{
    Dl_info info;
    char command[600], line[600], name[240];
    if (s == scope::global) {
        describe_address(p, out, cap);
        return;
    }
    const bool dynamic = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(here()->dynamic_start) <
                         here()->now->spec->smem;
    snprintf(out, cap, dynamic ? "dynamic shared memory" : "shared memory outside every array");
    if (!dladdr(p, &info) || !info.dli_fname)
        return;
    const uintptr_t at = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(info.dli_fbase);
    snprintf(command, sizeof command, "nm -C -S '%s' 2>/dev/null", info.dli_fname);
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f)) {
        unsigned long start, size;
        char type;
        if (sscanf(line, "%lx %lx %c %239[^\n]", &start, &size, &type, name) == 4 && at >= start &&
            at < start + size) {
            const char *last = strrchr(name, ':');
            snprintf(out, cap, "shared array %s + %lu bytes", last ? last + 1 : name,
                     static_cast<unsigned long>(at - start));
        }
    }
    if (f)
        pclose(f);
}

void thread_text(const worker *w, const access &a, char *out, size_t cap)
{
    const dim3 &b = w->now->spec->block;
    const int n = snprintf(out, cap, "thread (%u,%u,%u)", a.thread % b.x, a.thread / b.x % b.y,
                           a.thread / b.x / b.y);
    if (a.block != w->block_serial)
        snprintf(out + n, cap - static_cast<size_t>(n), " of another block");
}

[[noreturn]] void race(worker *w, const void *p, scope s, const access &before, bool wrote,
                       const access &now, bool writes)
{
    char what[300], here_[300], there[300], who[80];
    variable(p, s, what, sizeof what);
    place(before, there, sizeof there);
    place(now, here_, sizeof here_);
    thread_text(w, before, who, sizeof who);
    fail(nullptr, "data race on %s: %s here, %s; %s by %s, %s; no barrier between", what,
         writes ? "written" : "read", here_, wrote ? "written" : "read", who, there);
}

void touch(const void *p, size_t bytes, bool writes, const void *pc, const site &at, bool atomic)
{
    worker *w = here();
    if (!w || !w->current)
        return;
    fiber *f = w->current;
    const uintptr_t first = reinterpret_cast<uintptr_t>(p);
    if (first - reinterpret_cast<uintptr_t>(f->stack) < stack_bytes)
        return;
    const access now = {w->block_serial, f->index, w->epoch, f->warp_clock, atomic, pc, at};
    for (uintptr_t a = first & ~uintptr_t{3}; a < first + bytes; a += 4) {
        shadow *page = page_of(w, a);
        const scope s = page->scope;
        if (s == scope::other)
            return;
        cell &c = page->cells[a / 4 % 1024];
        const void *word = reinterpret_cast<const void *>(a);
        if (c.copying && c.write.block == now.block) {
            char what[300], there[300];
            variable(word, s, what, sizeof what);
            place(c.write, there, sizeof there);
            fail(nullptr, "%s is touched while a cp.async to it, %s, has not been waited for", what,
                 there);
        }
        if (!ordered(c.write, now, s))
            race(w, word, s, c.write, true, now, writes);
        if (writes) {
            for (const access &r : c.read)
                if (!ordered(r, now, s))
                    race(w, word, s, r, false, now, true);
            c.write = now;
            c.read[0] = c.read[1] = access();
            c.copying = false;
            continue;
        }
        if (s == scope::shared && c.write.block != now.block) {
            char what[300], source[300];
            variable(word, s, what, sizeof what);
            place(now, source, sizeof source);
            fail(nullptr, "uninitialised shared memory is read: %s, %s", what, source);
        }
        /* Two readers are enough: a writer differs from one of them. */
        if (c.read[0].thread != now.thread || c.read[0].block != now.block)
            c.read[1] = c.read[0];
        c.read[0] = now;
    }
}

void touch_from_code(const void *p, size_t bytes, bool writes, const void *pc)
{
    if (bytes > 4 && bytes <= 16 && reinterpret_cast<uintptr_t>(p) % bytes && here() &&
        here()->current) {
        char source[300];
        fail(nullptr, "a misaligned access of %zu bytes to %p, %s", bytes, p,
             source_of(pc, source, sizeof source));
    }
    touch(p, bytes, writes, pc, site(), false);
}

} // namespace

/* One OS thread runs all blocks of this build, so that the first block of a launch is known. */
void races_block_begin(worker *w)
{
    if (w->blocks_of_launch++ == 0)
        launch_begin = w->block_serial;
}

void races_copy_issued(const async_copy &c)
{
    touch(c.to, c.bytes, true, nullptr, c.at, false);
    if (c.valid)
        touch(c.from, c.bytes, false, nullptr, c.at, false);
    for (unsigned i = 0; i < c.bytes; i += 4) {
        const uintptr_t a = reinterpret_cast<uintptr_t>(c.to) + i;
        page_of(here(), a)->cells[a / 4 % 1024].copying = true;
    }
}

void races_copy_done(const async_copy &c)
{
    for (unsigned i = 0; i < c.bytes; i += 4) {
        const uintptr_t a = reinterpret_cast<uintptr_t>(c.to) + i;
        page_of(here(), a)->cells[a / 4 % 1024].copying = false;
    }
    touch(c.to, c.bytes, true, nullptr, c.at, false);
}

void races_atomic(const void *at, size_t bytes, const site &where)
{
    touch(at, bytes, true, nullptr, where, true);
}

void races_free(const void *p, size_t bytes)
{
    const uintptr_t a = reinterpret_cast<uintptr_t>(p);
    for (uintptr_t n = a >> 12; n <= (a + bytes) >> 12; n++)
        pages.erase(n);
    memset(recent, 0, sizeof recent);
}

} // namespace emu

/* ---- what the compiler calls ------------------------------------------------------------- */

#define HOOK extern "C" __attribute__((visibility("default")))
#define PC (static_cast<const char *>(__builtin_return_address(0)) - 1)
#define SIZED(n)                                                                            \
    HOOK void __tsan_read##n(void *p) { emu::touch_from_code(p, n, false, PC); }            \
    HOOK void __tsan_write##n(void *p) { emu::touch_from_code(p, n, true, PC); }            \
    HOOK void __tsan_unaligned_read##n(void *p) { emu::touch(p, n, false, PC, {}, false); } \
    HOOK void __tsan_unaligned_write##n(void *p) { emu::touch(p, n, true, PC, {}, false); }
SIZED(1)
SIZED(2)
SIZED(4)
SIZED(8)
SIZED(16)
HOOK void __tsan_read_range(void *p, size_t n) { emu::touch(p, n, false, PC, {}, false); }
HOOK void __tsan_write_range(void *p, size_t n) { emu::touch(p, n, true, PC, {}, false); }
HOOK void __tsan_init(void) {}
HOOK void __tsan_func_entry(void *) {}
HOOK void __tsan_func_exit(void) {}
HOOK void __tsan_vptr_update(void **, void *) {}
HOOK void __tsan_vptr_read(void **) {}

#endif
