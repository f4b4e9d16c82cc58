/* Inside the scheduler: the state of a block that is being run, and of its threads. */
#ifndef RUNG_EMU_BLOCK_H
#define RUNG_EMU_BLOCK_H

#include "emu_runtime.h"

#include <rung/emu.h>

#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <cstdint>
#include <vector>

namespace emu {

struct site {
    const char *file = "";
    int line = 0;
};

/* A cp.async that has been issued and not yet waited for. */
struct async_copy {
    void *to;
    const void *from;
    unsigned bytes, group;
    bool valid;
    site at;
};

enum class state { ready, barrier, warp, done };

/* One CUDA thread. */
struct fiber {
    rung_emu_thread pub; /* first: rung_emu_self() points to it */
    boost::context::detail::fcontext_t context = nullptr;
    emu::state state = state::done;
    unsigned index = 0; /* in its block */
    site at;            /* where it waits */
    int predicate = 0;  /* of a barrier; then its result */
    struct {
        unsigned mask, source, bytes, ballot;
        rung_emu_warp_op op;
        unsigned char value[16], result[16];
    } warp = {};
    std::vector<async_copy> copies;
    unsigned groups = 0;     /* committed */
    unsigned warp_clock = 0; /* __syncwarps passed since the last barrier */
    char *stack = nullptr;
    void *fake_stack = nullptr; /* AddressSanitizer's */
};

/* One launch, and what went wrong in it first. */
struct launch {
    const rung_emu_launch *spec = nullptr;
    rung_emu_options options = {};
    uint64_t n_blocks = 0;
    std::atomic<uint64_t> next{0};
    std::atomic<bool> stop{false};
};

/* What an OS thread runs: one block at a time. */
struct worker {
    launch *now = nullptr;
    std::vector<fiber> fibers;
    std::vector<unsigned> order;
    unsigned n = 0, alive = 0, arrived = 0;
    rung_emu_barrier_op barrier_op = RUNG_EMU_SYNC;
    const fiber *first_at_barrier = nullptr;
    unsigned epoch = 0;         /* barriers passed by this block */
    uint64_t block_serial = 0;  /* unique over all launches; 0 = none */
    std::atomic<uint64_t> resumes{0}; /* grows while anything moves */
    uint64_t blocks_of_launch = 0;
    uint64_t random = 1;
    char *dynamic = nullptr; /* its shared memory: the end of a mapping before a guard page */
    char *dynamic_start = nullptr;
    fiber *current = nullptr;
    boost::context::detail::fcontext_t home = nullptr;
    const void *home_stack = nullptr;
    size_t home_size = 0;
};

worker *here(); /* this OS thread's; NULL outside a launch */

/* Ends the running thread and with it the launch: "kernel .., block .., thread ..: what". */
[[noreturn]] void fail(const site *at, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a thread that is not running. */
void fail_of(worker *w, const fiber *f, const site *at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Gives the OS thread back until the scheduler resumes this fiber. */
void yield(fiber *f);
/* Keeps the first message of a launch. */
void record(launch *l, const char *msg);
/* "kernel .., block (0,0,0), thread (3,0,0)" of the running thread. */
void describe(const worker *w, const fiber *f, char *out, size_t cap);
const char *base_name(const char *path);

/* Releases the lanes of a warp whose collective is complete. */
bool warp_try(worker *w, fiber *f);
/* Nobody can go on: says why. */
void explain_stall(worker *w);
/* A thread is about to return: are its copies waited for? */
void copies_end(fiber *f);

/* memory.cpp: "operand B + 64 bytes" or "an address outside every operand". */
void describe_address(const void *p, char *out, size_t cap);
bool in_device_memory(const void *p);
void install_fault_handler();
const char *source_of(const void *pc, char *out, size_t cap);

/* races.cpp; nothing in other builds. */
void races_block_begin(worker *w);
void races_copy_issued(const async_copy &c);
void races_copy_done(const async_copy &c);
void races_atomic(const void *at, size_t bytes, const site &where);
void races_free(const void *p, size_t bytes);

constexpr size_t dynamic_bytes = 128u << 10; /* more than a block may ask for */
constexpr size_t stack_bytes = 256u << 10; /* reserved; only what is touched costs memory */

} // namespace emu

#endif
