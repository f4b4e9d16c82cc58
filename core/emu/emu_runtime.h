/*
 * The block scheduler behind the emu device, as the core sees it. What kernels call is
 * declared in rung/emu.h.
 *
 * A launch runs to its end inside rung_emu_run. The first mistake ends it and is kept until
 * rung_emu_take_error.
 */
#ifndef RUNG_EMU_RUNTIME_H
#define RUNG_EMU_RUNTIME_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In which order the threads of a block, and blocks, are run between two barriers. */
enum rung_emu_order { RUNG_EMU_FORWARD, RUNG_EMU_REVERSE, RUNG_EMU_SHUFFLED, RUNG_EMU_ORDERS };

struct rung_emu_options {
    enum rung_emu_order order;
    uint64_t seed;   /* of RUNG_EMU_SHUFFLED */
    bool eager_copy; /* cp.async copies at once instead of when it is waited for */
    double timeout_s;
};

void rung_emu_set_options(const struct rung_emu_options *o);

/* Device memory between pages that may not be touched; 256-byte aligned. */
void *rung_emu_alloc(size_t bytes);
void rung_emu_free(void *ptr);
/* May kernels touch these bytes? To the byte under AddressSanitizer, else whole pages. */
void rung_emu_poison(void *ptr, size_t bytes);
void rung_emu_unpoison(void *ptr, size_t bytes);
/* Whose bytes these are, for reports. The name is kept by pointer. */
void rung_emu_region_name(void *ptr, size_t bytes, const char *name);

/* The first mistake since the last call, RUNG_OK if there was none. */
enum rung_status rung_emu_take_error(char *msg, size_t cap);

/* What this build watches, "bounds to the byte, no races". */
const char *rung_emu_watches(void);

#ifdef __cplusplus
}
#endif
#endif
