/*
 * The block scheduler: blocks are handed to OS threads, a block's threads are fibers that
 * run until they wait. A fiber never moves to another OS thread.
 */
#include "block.h"

#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <thread>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emu {
namespace {

namespace ctx = boost::context::detail;

thread_local worker self_worker;
thread_local bool in_launch = false;

rung_emu_options options = {RUNG_EMU_FORWARD, 1, false, 60.0};
std::mutex error_lock;
rung_err first_error = {RUNG_OK, ""};
uint64_t serial = 0;

/* AddressSanitizer has to be told of every change of stacks. */
void leaving(void **keep, const void *stack, size_t size)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(keep, stack, size);
#else
    (void)keep, (void)stack, (void)size;
#endif
}
void arrived(void *kept, const void **from, size_t *size)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(kept, from, size);
#else
    (void)kept, (void)from, (void)size;
#endif
}

void run_fiber(ctx::transfer_t from)
{
    worker *w = &self_worker;
    fiber *f = static_cast<fiber *>(from.data);
    w->home = from.fctx;
    arrived(nullptr, &w->home_stack, &w->home_size);
    w->now->spec->call(w->now->spec->arg);
    copies_end(f);
    f->state = state::done;
    leaving(nullptr, w->home_stack, w->home_size);
    ctx::jump_fcontext(w->home, nullptr);
}

void resume(worker *w, fiber *f)
{
    void *kept = nullptr;
    w->current = f;
    w->resumes.fetch_add(1, std::memory_order_relaxed);
    leaving(&kept, f->stack, stack_bytes);
    const ctx::transfer_t back = ctx::jump_fcontext(f->context, f);
    arrived(kept, nullptr, nullptr);
    f->context = back.fctx;
    w->current = nullptr;
    if (f->state == state::done)
        w->alive--;
}

uint64_t mix(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

void set_order(worker *w)
{
    for (unsigned i = 0; i < w->n; i++)
        w->order[i] = w->now->options.order == RUNG_EMU_REVERSE ? w->n - 1 - i : i;
    if (w->now->options.order == RUNG_EMU_SHUFFLED)
        for (unsigned i = w->n; i > 1; i--)
            std::swap(w->order[i - 1], w->order[mix(&w->random) % i]);
}

/* Memory with a page that may not be touched below it (stacks grow down) or above it. */
void *map_guarded(size_t bytes, bool below)
{
    void *p = mmap(nullptr, bytes + 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        abort();
    char *body = static_cast<char *>(p) + (below ? 4096 : 0);
    mprotect(below ? p : body + bytes, 4096, PROT_NONE);
    return body;
}

void new_stack(fiber *f)
{
    if (!f->stack)
        f->stack = static_cast<char *>(map_guarded(stack_bytes, true));
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(f->stack, stack_bytes);
#endif
    /* Tops at different offsets, or all of them would share the same lines of the cache. */
    const size_t shift = f->index % 64 * 192;
    f->context = ctx::make_fcontext(f->stack + stack_bytes - shift, stack_bytes - shift, run_fiber);
}

/* Dynamic shared memory ends where a page that may not be touched begins, and begins as
 * signalling NaNs: what nobody wrote shows. */
void new_dynamic(worker *w, size_t bytes)
{
    const uint32_t unwritten = 0x7fa00badu;
    if (!w->dynamic) {
        w->dynamic = static_cast<char *>(map_guarded(dynamic_bytes, false));
    }
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(w->dynamic, dynamic_bytes);
#endif
    w->dynamic_start = w->dynamic + dynamic_bytes - (bytes + 127) / 128 * 128;
    for (size_t i = 0; i + 4 <= bytes; i += 4)
        memcpy(w->dynamic_start + i, &unwritten, 4);
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(w->dynamic, static_cast<size_t>(w->dynamic_start - w->dynamic));
    __asan_poison_memory_region(w->dynamic_start + bytes, (bytes + 127) / 128 * 128 - bytes);
#endif
}

void begin_block(worker *w, uint64_t index)
{
    const rung_emu_launch *s = w->now->spec;
    w->n = s->block.x * s->block.y * s->block.z;
    w->alive = w->n;
    w->arrived = w->epoch = 0;
    w->block_serial = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
    if (w->fibers.size() < w->n) {
        w->fibers.resize(w->n);
        w->order.resize(w->n);
    }
    new_dynamic(w, s->smem);
    for (unsigned i = 0; i < w->n; i++) {
        fiber *f = &w->fibers[i];
        f->index = i;
        f->pub.thread_index = {i % s->block.x, i / s->block.x % s->block.y,
                               i / s->block.x / s->block.y};
        f->pub.block_index = {static_cast<unsigned>(index % s->grid.x),
                              static_cast<unsigned>(index / s->grid.x % s->grid.y),
                              static_cast<unsigned>(index / s->grid.x / s->grid.y)};
        f->pub.block_size = s->block;
        f->pub.grid_size = s->grid;
        f->pub.lane = i % 32;
        f->state = state::ready;
        f->copies.clear();
        f->groups = f->warp_clock = 0;
        new_stack(f);
    }
    races_block_begin(w);
}

void run_block(worker *w, uint64_t index)
{
    begin_block(w, index);
    while (w->alive && !w->now->stop) {
        bool moved = false;
        set_order(w);
        for (unsigned i = 0; i < w->n && !w->now->stop; i++) {
            fiber *f = &w->fibers[w->order[i]];
            if (f->state != state::ready)
                continue;
            moved = true;
            resume(w, f);
        }
        if (!moved && w->alive)
            explain_stall(w);
    }
}

void run_blocks(launch *l)
{
    worker *w = &self_worker;
    w->now = l;
    w->blocks_of_launch = 0;
    w->random = l->options.seed * 0x9e3779b97f4a7c15u + 1;
    in_launch = true;
    for (uint64_t i = l->next++; i < l->n_blocks && !l->stop; i = l->next++)
        run_block(w, l->options.order == RUNG_EMU_REVERSE ? l->n_blocks - 1 - i : i);
    in_launch = false;
    w->now = nullptr;
}

/* OS threads, kept from launch to launch with their stacks. */
class pool {
  public:
    static pool &get()
    {
        static pool *p = new pool; /* never destroyed: its threads run until the end */
        return *p;
    }
    void run(launch *l)
    {
        std::unique_lock<std::mutex> hold(lock);
        work = l;
        busy = static_cast<unsigned>(threads.size());
        round++;
        wake.notify_all();
        /* A thread that spins never gives its OS thread back: it is interrupted, and says where. */
        uint64_t seen = 0;
        double still = 0;
        while (!finished.wait_for(hold, std::chrono::milliseconds(250), [&] { return busy == 0; })) {
            uint64_t moved = 0;
            for (const worker *w : workers)
                moved += w->resumes.load(std::memory_order_relaxed);
            still = moved == seen ? still + 0.25 : 0;
            seen = moved;
            if (still < l->options.timeout_s)
                continue;
            l->stop = true;
            for (pthread_t t : threads)
                pthread_kill(t, SIGURG);
        }
    }

  private:
    pool()
    {
        install_fault_handler();
#if defined(__SANITIZE_ADDRESS__) || defined(RUNG_EMU_RACES)
        const unsigned n = 1;
#else
        const unsigned n = std::min(16u, std::max(1u, std::thread::hardware_concurrency()));
#endif
        for (unsigned i = 0; i < n; i++) {
            std::thread t([this] { serve(); });
            threads.push_back(t.native_handle());
            t.detach();
        }
    }
    void serve()
    {
        uint64_t seen = 0;
        std::unique_lock<std::mutex> hold(lock);
        workers.push_back(&self_worker);
        for (;;) {
            wake.wait(hold, [&] { return round != seen; });
            seen = round;
            launch *l = work;
            hold.unlock();
            run_blocks(l);
            hold.lock();
            if (--busy == 0)
                finished.notify_all();
        }
    }
    std::mutex lock;
    std::condition_variable wake, finished;
    std::vector<pthread_t> threads;
    std::vector<const worker *> workers;
    launch *work = nullptr;
    uint64_t round = 0;
    unsigned busy = 0;
};

} // namespace

worker *here()
{
    return in_launch ? &self_worker : nullptr;
}

void yield(fiber *f)
{
    worker *w = &self_worker;
    leaving(&f->fake_stack, w->home_stack, w->home_size);
    const ctx::transfer_t from = ctx::jump_fcontext(w->home, nullptr);
    arrived(f->fake_stack, &w->home_stack, &w->home_size);
    w->home = from.fctx;
}

void record(launch *l, const char *msg)
{
    std::lock_guard<std::mutex> hold(error_lock);
    if (!first_error.code)
        rung_fail(&first_error, RUNG_E_WRONG, "%s", msg);
    l->stop = true;
}

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The text of a launch begins with the kernel: up to the first comma outside brackets. */
static int name_length(const char *text)
{
    int depth = 0, i = 0;
    for (; text[i] && (depth || text[i] != ','); i++)
        depth += strchr("<([", text[i]) ? 1 : strchr(">)]", text[i]) ? -1 : 0;
    return i < 120 ? i : 120;
}

void describe(const worker *w, const fiber *f, char *out, size_t cap)
{
    const char *what = w->now->spec->what;
    const uint3 b = f->pub.block_index, t = f->pub.thread_index;
    snprintf(out, cap, "kernel %.*s, block (%u,%u,%u), thread (%u,%u,%u)", name_length(what), what,
             b.x, b.y, b.z, t.x, t.y, t.z);
}

static void vfail(worker *w, const fiber *f, const site *at, const char *fmt, va_list ap)
{
    char who[256], what[400], msg[RUNG_MSG_MAX];
    describe(w, f, who, sizeof who);
    vsnprintf(what, sizeof what, fmt, ap);
    if (at && at->line)
        snprintf(msg, sizeof msg, "%s: %s, at %s:%d", who, what, base_name(at->file), at->line);
    else
        snprintf(msg, sizeof msg, "%s: %s", who, what);
    record(w->now, msg);
}

void fail_of(worker *w, const fiber *f, const site *at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfail(w, f, at, fmt, ap);
    va_end(ap);
}

void fail(const site *at, const char *fmt, ...)
{
    worker *w = &self_worker;
    va_list ap;
    va_start(ap, fmt);
    vfail(w, w->current, at, fmt, ap);
    va_end(ap);
    /* The fiber is left where it is: kernels own nothing that must be released. */
    leaving(nullptr, w->home_stack, w->home_size);
    ctx::jump_fcontext(w->home, nullptr);
    abort();
}

} // namespace emu

using namespace emu;

extern "C" {

void rung_emu_set_options(const struct rung_emu_options *o)
{
    options = *o;
}

enum rung_status rung_emu_take_error(char *msg, size_t cap)
{
    std::lock_guard<std::mutex> hold(error_lock);
    const rung_status code = first_error.code;
    if (code)
        snprintf(msg, cap, "%s", first_error.msg);
    first_error.code = RUNG_OK;
    return code;
}

rung_emu_thread *rung_emu_self(void)
{
    return &self_worker.current->pub;
}

void *rung_emu_dynamic_shared(void)
{
    return self_worker.dynamic_start;
}

/* Beyond 48 KiB a kernel must have asked. */
static std::mutex allowed_lock;
static std::vector<std::pair<const void *, size_t>> allowed;

enum rung_status rung_emu_allow_smem(const void *kernel, size_t bytes)
{
    if (bytes > 99u << 10)
        return RUNG_E_DEVICE;
    std::lock_guard<std::mutex> hold(allowed_lock);
    allowed.emplace_back(kernel, bytes);
    return RUNG_OK;
}

static bool smem_allowed(const rung_emu_launch *s)
{
    if (s->smem <= 48u << 10)
        return true;
    std::lock_guard<std::mutex> hold(allowed_lock);
    for (const auto &a : allowed)
        if (a.first == s->kernel && a.second >= s->smem)
            return true;
    return false;
}

enum rung_status rung_emu_run(const struct rung_emu_launch *s)
{
    const uint64_t threads = uint64_t{s->block.x} * s->block.y * s->block.z;
    launch l;
    char msg[256];

    l.spec = s;
    l.options = options;
    l.n_blocks = uint64_t{s->grid.x} * s->grid.y * s->grid.z;
    if (!threads || threads > 1024 || s->block.z > 64 || !l.n_blocks || s->grid.x > 0x7fffffff ||
        s->grid.y > 65535 || s->grid.z > 65535 || !smem_allowed(s)) {
        snprintf(msg, sizeof msg,
                 "kernel %.*s: invalid launch of %ux%ux%u blocks, %ux%ux%u threads, %zu bytes of "
                 "dynamic shared memory", name_length(s->what), s->what, s->grid.x, s->grid.y,
                 s->grid.z, s->block.x, s->block.y, s->block.z, s->smem);
        record(&l, msg);
        return RUNG_E_DEVICE;
    }
    pool::get().run(&l);
    return RUNG_OK;
}
}
