/*
 * Device memory that knows its bounds, and what happens when a kernel leaves it.
 *
 * Without a sanitizer: pages that may not be touched stand around every allocation and inside
 * its guards; a touch is a fault, caught here and reported. Under AddressSanitizer the same
 * calls poison bytes, and its report is preceded by a line that says which kernel and thread.
 */
#include "block.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define RUNG_EMU_ASAN 1
#else
#define RUNG_EMU_ASAN 0
#endif

namespace emu {
namespace {

constexpr uintptr_t page = 4096;

struct allocation {
    void *map;
    size_t map_bytes, bytes;
};
struct named {
    size_t bytes;
    const char *name;
};

std::mutex lock;
std::map<uintptr_t, allocation> allocations;
std::map<uintptr_t, named> names;

template <class M> auto containing(M &m, uintptr_t at)
{
    auto it = m.upper_bound(at);
    if (it == m.begin())
        return m.end();
    --it;
    return at < it->first + it->second.bytes ? it : m.end();
}

/* A fault inside a kernel: said of the thread that made it, which is then left. */
void on_fault(int sig, siginfo_t *info, void *context)
{
    worker *w = here();
    char where[200], source[300];
    const void *pc = nullptr;
#if defined(__x86_64__)
    pc = reinterpret_cast<const void *>(
        static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP]);
#else
    (void)context;
#endif
    if (!w || !w->current) {
        if (sig == SIGURG)
            return;
        signal(sig, SIG_DFL); /* not a kernel's: let it end the process as it would */
        return;
    }
    source_of(pc, source, sizeof source);
    if (sig == SIGURG)
        fail(nullptr, "runs for more than %g s without reaching a barrier or its end, %s",
             w->now->options.timeout_s, source);
    if (sig == SIGILL)
        fail(nullptr, "a misaligned vector access, or an index past a static array, %s", source);
    if (info->si_code == SI_KERNEL)
        fail(nullptr, "a misaligned vector access, or a wild address, %s", source);
    describe_address(info->si_addr, where, sizeof where);
    fail(nullptr, "an access out of bounds: %s, %s", where, source);
}

} // namespace

void install_fault_handler()
{
    struct sigaction a = {};
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGURG, &a, nullptr);
    if (!RUNG_EMU_ASAN) {
        sigaction(SIGSEGV, &a, nullptr);
        sigaction(SIGBUS, &a, nullptr);
        sigaction(SIGILL, &a, nullptr); /* the trap of a checked access */
    }
}

bool in_device_memory(const void *p)
{
    std::lock_guard<std::mutex> hold(lock);
    return containing(allocations, reinterpret_cast<uintptr_t>(p)) != allocations.end();
}

void describe_address(const void *p, char *out, size_t cap)
{
    const uintptr_t at = reinterpret_cast<uintptr_t>(p);
    const uintptr_t near = 1u << 20; /* farther than that it is nobody's neighbour */
    std::lock_guard<std::mutex> hold(lock);
    auto after = names.upper_bound(at);
    if (after != names.begin()) {
        auto n = std::prev(after);
        if (at < n->first + n->second.bytes) {
            snprintf(out, cap, "operand %s + %zu bytes", n->second.name, at - n->first);
            return;
        }
        if (at - n->first - n->second.bytes < near && n->second.bytes) {
            snprintf(out, cap, "%zu bytes past the end of operand %s",
                     at - n->first - n->second.bytes, n->second.name);
            return;
        }
    }
    if (after != names.end() && after->first - at < near)
        snprintf(out, cap, "%zu bytes before operand %s", after->first - at, after->second.name);
    else
        snprintf(out, cap, "address %p, near no operand", p);
}

/* "in f() at file:line" of a code address, by addr2line where it is installed. */
const char *source_of(const void *pc, char *out, size_t cap)
{
    Dl_info info;
    char command[600], line[200] = "";
    snprintf(out, cap, "at code address %p", pc);
    if (!dladdr(pc, &info) || !info.dli_fname)
        return out;
    const uintptr_t offset = reinterpret_cast<uintptr_t>(pc) - reinterpret_cast<uintptr_t>(info.dli_fbase);
    snprintf(command, sizeof command, "addr2line -i -e '%s' 0x%zx 2>/dev/null", info.dli_fname,
             static_cast<size_t>(offset));
    FILE *f = popen(command, "r");
    if (!f)
        return out;
    /* Innermost first: the first place that is a kernel's and not rung/emu.h's. */
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, " \n")] = '\0';
        if (line[0] == '?' || strstr(line, "/rung/emu.h") || strstr(line, "/c++/"))
            continue;
        snprintf(out, cap, "at %s", base_name(line));
        break;
    }
    pclose(f);
    return out;
}

} // namespace emu

using namespace emu;

#if RUNG_EMU_ASAN
/* Called by the sanitizers before their report. */
static void say_who(void)
{
    const worker *w = here();
    char who[256];
    if (!w || !w->current)
        return;
    describe(w, w->current, who, sizeof who);
    fprintf(stderr, "rung: emu: %s\n", who);
}
extern "C" __attribute__((visibility("default"))) void __asan_on_error(void)
{
    char where[200];
    say_who();
    if (here() && __asan_get_report_address()) {
        describe_address(__asan_get_report_address(), where, sizeof where);
        fprintf(stderr, "rung: emu: an access out of bounds: %s\n", where);
    }
}
extern "C" __attribute__((visibility("default"))) void __ubsan_on_report(void)
{
    say_who();
}
#endif

extern "C" {

void *rung_emu_alloc(size_t bytes)
{
    void *ptr = nullptr;
    allocation a = {nullptr, 0, bytes};
#if RUNG_EMU_ASAN
    if (posix_memalign(&ptr, 256, bytes))
        return nullptr;
#else
    /* Its end meets the page behind it as closely as the alignment allows. */
    const size_t body = (bytes + page - 1) / page * page;
    a.map_bytes = body + 2 * page;
    a.map = mmap(nullptr, a.map_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a.map == MAP_FAILED)
        return nullptr;
    char *start = static_cast<char *>(a.map) + page;
    mprotect(a.map, page, PROT_NONE);
    mprotect(start + body, page, PROT_NONE);
    ptr = start + (body - (bytes + 255) / 256 * 256);
#endif
    std::lock_guard<std::mutex> hold(lock);
    allocations[reinterpret_cast<uintptr_t>(ptr)] = a;
    return ptr;
}

void rung_emu_free(void *ptr)
{
    allocation a;
    {
        std::lock_guard<std::mutex> hold(lock);
        const uintptr_t at = reinterpret_cast<uintptr_t>(ptr);
        auto it = allocations.find(at);
        if (it == allocations.end())
            return;
        a = it->second;
        allocations.erase(it);
        names.erase(names.lower_bound(at), names.lower_bound(at + a.bytes));
    }
    races_free(ptr, a.bytes);
    if (a.map)
        munmap(a.map, a.map_bytes);
    else
        free(ptr);
}

/* Pages wholly inside the range; the rest of it is the canaries' to watch. */
static void protect(void *ptr, size_t bytes, int rights)
{
    const uintptr_t from = (reinterpret_cast<uintptr_t>(ptr) + page - 1) & ~(page - 1);
    const uintptr_t to = (reinterpret_cast<uintptr_t>(ptr) + bytes) & ~(page - 1);
    if (from < to)
        mprotect(reinterpret_cast<void *>(from), to - from, rights);
}

void rung_emu_poison(void *ptr, size_t bytes)
{
#if RUNG_EMU_ASAN
    ASAN_POISON_MEMORY_REGION(ptr, bytes);
    (void)protect;
#else
    protect(ptr, bytes, PROT_NONE);
#endif
}

void rung_emu_unpoison(void *ptr, size_t bytes)
{
#if RUNG_EMU_ASAN
    ASAN_UNPOISON_MEMORY_REGION(ptr, bytes);
#else
    protect(ptr, bytes, PROT_READ | PROT_WRITE);
#endif
}

void rung_emu_region_name(void *ptr, size_t bytes, const char *name)
{
    std::lock_guard<std::mutex> hold(lock);
    names[reinterpret_cast<uintptr_t>(ptr)] = {bytes, name};
}

const char *rung_emu_watches(void)
{
#if defined(RUNG_EMU_RACES)
    return "bounds to the page, races on every word";
#else
    return RUNG_EMU_ASAN ? "bounds to the byte, no races" : "bounds to the page, no races";
#endif
}
}
