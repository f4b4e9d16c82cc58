/*
 * A device: where kernels run. One small vtable, three kinds:
 *   cuda  a GPU through the CUDA runtime
 *   emu   CUDA kernels executed on the CPU; correctness, never time
 *   cpu   kernels in C, real time
 * A device is used from the thread that opened it.
 */
#ifndef RUNG_DEVICE_H
#define RUNG_DEVICE_H

#include "kit.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rung_device_info {
    char kind[8];     /* "cuda" */
    char name[128];   /* "NVIDIA H200" */
    char uuid[64];    /* "GPU-..."; empty where there is none */
    char pci[32];     /* "0000:65:00.0"; empty where there is none */
    int32_t index;    /* CUDA ordinal; -1 where there is none */
    uint32_t sm, sm_count;
    uint64_t mem_bytes, l2_bytes, smem_block_max;
    int32_t driver_version, runtime_version; /* 13000; 0 where there is none */
};

/* What the runtime knows of a compiled entry on this device. */
struct rung_entry_facts {
    int32_t registers;    /* a thread */
    int64_t local_bytes;  /* a thread; spills and stack arrays */
    int64_t static_smem;  /* a block */
    int32_t max_threads;  /* a block */
    int32_t binary_sm;    /* arch of the machine code chosen, 90 */
};

enum rung_copy_dir { RUNG_TO_DEVICE, RUNG_TO_HOST, RUNG_ON_DEVICE };

struct rung_timer; /* a pair of marks in the stream */
struct rung_graph; /* launches recorded once and replayed */

/* Ways to copy, for the ceiling that a memory-bound kernel is held against: by the driver, and
 * by kernels that move 1, 2 or 4 float4 a thread. */
enum rung_copy_how { RUNG_COPY_MEMCPY, RUNG_COPY_X1, RUNG_COPY_X2, RUNG_COPY_X4, RUNG_COPY_HOWS };

struct rung_device_ops {
    const char *kind;
    bool has_time; /* false: emulated, no rate may be printed */

    /* Number of devices; 0 with the reason in err where none answers. */
    int (*count)(struct rung_err *err);
    /* selector: NULL = first, "1" = index, "GPU-..." = UUID. */
    enum rung_status (*open)(const char *selector, struct rung_device **out,
                             struct rung_err *err);
    void (*close)(struct rung_device *dev);

    enum rung_status (*alloc)(struct rung_device *dev, size_t bytes, void **out,
                              struct rung_err *err);
    void (*free)(struct rung_device *dev, void *ptr);
    enum rung_status (*copy)(struct rung_device *dev, void *dst, const void *src, size_t bytes,
                             enum rung_copy_dir dir, struct rung_err *err);
    /* Sets n_words 32-bit words. */
    enum rung_status (*fill32)(struct rung_device *dev, void *ptr, uint32_t bits, size_t n_words,
                               struct rung_err *err);
    uint64_t (*mem_free)(struct rung_device *dev);

    /* Waits for everything enqueued and reports what failed in it. */
    enum rung_status (*sync)(struct rung_device *dev, struct rung_err *err);
    /* Reports a pending launch error without waiting. */
    enum rung_status (*launched)(struct rung_device *dev, struct rung_err *err);

    enum rung_status (*timer_create)(struct rung_device *dev, struct rung_timer **out,
                                     struct rung_err *err);
    void (*timer_destroy)(struct rung_device *dev, struct rung_timer *t);
    enum rung_status (*timer_start)(struct rung_device *dev, struct rung_timer *t,
                                    struct rung_err *err);
    enum rung_status (*timer_stop)(struct rung_device *dev, struct rung_timer *t,
                                   struct rung_err *err);
    /* Waits for the stop mark. Milliseconds between the marks. */
    enum rung_status (*timer_ms)(struct rung_device *dev, struct rung_timer *t, double *ms,
                                 struct rung_err *err);

    /* Launches enqueued between begin and end become one graph instead of running. NULL where
     * there is no such thing. */
    enum rung_status (*graph_begin)(struct rung_device *dev, struct rung_err *err);
    enum rung_status (*graph_end)(struct rung_device *dev, struct rung_graph **out,
                                  struct rung_err *err);
    enum rung_status (*graph_launch)(struct rung_device *dev, struct rung_graph *g,
                                     struct rung_err *err);
    void (*graph_destroy)(struct rung_device *dev, struct rung_graph *g);

    /* Reads the clocks of the device in the stream, mark 0 and mark 1; `clock_read` waits and
     * gives what passed between them: cycles of an SM, and nanoseconds. RUNG_E_UNAVAILABLE when
     * the marks cannot be compared. NULL where there are no such clocks. */
    enum rung_status (*clock_mark)(struct rung_device *dev, int mark, struct rung_err *err);
    enum rung_status (*clock_read)(struct rung_device *dev, double *cycles, double *ns,
                                   struct rung_err *err);
    /* Enqueues a copy of `bytes` (a multiple of 16) on the device, in the first n_copies of the
     * ways to copy. */
    int n_copies;
    enum rung_status (*copy_enqueue)(struct rung_device *dev, enum rung_copy_how how, void *dst,
                                     const void *src, size_t bytes, struct rung_err *err);

    /* NULL where the device knows nothing of entries. */
    enum rung_status (*entry_facts)(struct rung_device *dev, const struct rung_entry *e,
                                    struct rung_entry_facts *out, struct rung_err *err);
    /* Tells a checking device that a region may (not) be touched by kernels, and whose it is.
     * NULL where that means nothing. */
    void (*guard)(struct rung_device *dev, void *ptr, size_t bytes, bool forbidden);
    void (*name_region)(struct rung_device *dev, void *ptr, size_t bytes, const char *name);
    /* Orders in which a checking device can run threads, and the choice of one; a result
     * that depends on it is wrong. 0 where the device alone decides. */
    int n_orders;
    void (*set_order)(struct rung_device *dev, int order);
};

struct rung_device {
    const struct rung_device_ops *ops;
    const struct rung_kit *kit;
    struct rung_device_info info;
    void *stream; /* what launch() is given */
};

/* Kinds this build has, NULL-terminated, best for timing first. */
extern const struct rung_device_ops *const rung_device_kinds[];

/* spec: NULL or "auto" (cuda where a GPU answers, else cpu when `want_time`, else emu when
 * this build has it), "cuda", "cuda:1", "cuda:GPU-...", "emu", "cpu". `why` (may be NULL)
 * gets a line that says why a default was taken, empty if there is nothing to say. */
enum rung_status rung_device_open(const char *spec, bool want_time, struct rung_device **out,
                                  char *why, size_t why_cap, struct rung_err *err);
void rung_device_close(struct rung_device *dev);

extern const struct rung_device_ops rung_device_cpu, rung_device_emu;

#ifdef __cplusplus
}
#endif
#endif
