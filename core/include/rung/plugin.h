/*
 * rung plugin ABI, version 1.0.
 *
 * A kernel is one const data symbol, `rung_plugin_<id>_<target>`, of type
 * `struct rung_plugin`. Data, not a function: the loader reads the version before
 * it calls anything. The same object file is linked into the bundled executable
 * or into a module `rung-<id>.<target>.so`.
 *
 * C11 and C++17, libc only, no CUDA types. Append only: a later minor version adds
 * fields before `reserved` shrinks, and never moves one.
 *
 * Threads: every function of a plugin is called from one thread at a time, always
 * the same one for a given state. Lifetimes: the case, the env and the sets given to
 * `prepare` stay valid and unmoved until `finish` has returned.
 */
#ifndef RUNG_PLUGIN_H
#define RUNG_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUNG_ABI_MAJOR 1u
#define RUNG_ABI_MINOR 0u

/* What a call came to. The first that detects a fault writes the message. */
enum rung_status {
    RUNG_OK = 0,
    RUNG_E_USAGE,       /* the caller asked for something that has no meaning */
    RUNG_E_REFUSED,     /* the kernel does not accept this case */
    RUNG_E_UNAVAILABLE, /* a library, tool, device or permission is missing */
    RUNG_E_NOMEM,       /* host or device memory is exhausted */
    RUNG_E_IO,          /* a file could not be read or written */
    RUNG_E_DEVICE,      /* the device or its runtime reported an error */
    RUNG_E_WRONG,       /* the kernel computed a wrong result or broke its contract */
    RUNG_E_BAD_PLUGIN,  /* a plugin object is not acceptable */
    RUNG_E_INTERNAL     /* a fault of rung itself */
};

/* Element types. f32 is the only one that 1.0 families use. */
enum rung_dtype { RUNG_F32 = 1, RUNG_F64 = 2, RUNG_I32 = 3 };

/* What an operand is to the kernel. */
enum rung_role {
    RUNG_IN = 1,   /* read only; the core checksums it before and after */
    RUNG_OUT = 2,  /* written; its old content must not matter */
    RUNG_INOUT = 3 /* read and written, C of SGEMM */
};

#define RUNG_MAX_DIMS 4
#define RUNG_MAX_OPERANDS 6
#define RUNG_REASON_MAX 256

/*
 * A family plus a shape.
 *
 * sgemm:   dim = {M, N, K}; ld = {lda, ldb, ldc}, elements between the starts of rows;
 *          C[M,N] = alpha * A[M,K] * B[K,N] + beta * C[M,N], row-major, f32.
 *          beta == 0 never reads C (NaN in it must not leak), alpha == 0 never reads A or
 *          B, K == 0 gives beta * C.
 * rmsnorm: dim = {rows, cols}; ld = {ldx, 0, ldy}; operands x, w, y; eps is inside the root.
 * softmax: dim = {rows, cols}; ld = {ldx, ldy}; operands x, y.
 */
struct rung_case {
    uint32_t struct_size; /* sizeof(struct rung_case) of the core */
    enum rung_dtype dtype;
    const char *family;
    int64_t dim[RUNG_MAX_DIMS];
    int64_t ld[RUNG_MAX_OPERANDS];  /* elements */
    int64_t offset;                 /* elements every operand is shifted off its alignment */
    float alpha, beta, eps;
    uint32_t sm;       /* compute capability of the device that runs it, 90 for sm_90; 0 = none */
    uint32_t sm_count; /* its multiprocessors; 0 = none */
    uint64_t reserved[6];
};

/* One tensor of a case, in the device's memory. Never owned by the plugin. */
struct rung_operand {
    const char *name; /* "A", "B", "C"; "x", "w", "y" */
    enum rung_role role;
    enum rung_dtype dtype;
    void *data;                     /* first element; NULL when the operand is empty */
    int64_t dim[RUNG_MAX_DIMS];     /* outermost first; unused ones are 1 */
    int64_t stride[RUNG_MAX_DIMS];  /* elements */
    uint32_t n_dims;
    uint32_t align;                 /* bytes that divide the address of `data` */
};

/*
 * One set of operands. For a cold L2 several sets are rotated, so a kernel that builds
 * descriptors from addresses builds one for each set, in `prepare`, and finds it
 * again by `index`. For sgemm the operands are A, B, C in this order.
 */
struct rung_set {
    uint32_t index; /* position in the array given to prepare */
    uint32_t n_operands;
    struct rung_operand operand[RUNG_MAX_OPERANDS];
    void *workspace; /* workspace_bytes() of device memory, 256-byte aligned; NULL if 0 */
    size_t workspace_bytes;
};

/* Severity of a log line. */
enum rung_log_level { RUNG_LOG_ERROR, RUNG_LOG_WARN, RUNG_LOG_INFO, RUNG_LOG_DEBUG };

/* What the core lends to a plugin. Valid until finish() has returned. */
struct rung_env {
    uint32_t struct_size;
    const char *device_kind; /* "cuda", "emu", "cpu" */
    const char *device_name;
    int32_t device_index;    /* CUDA ordinal; -1 where there is none */
    uint32_t sm;             /* 90 for compute capability 9.0; 0 where there is none */
    uint32_t sm_count;
    uint64_t l2_bytes;
    uint64_t smem_block_max; /* bytes of shared memory a block may opt in to */
    void *stream;            /* the only stream on which launch() may enqueue; cudaStream_t */
    void *ctx;               /* for the two functions below */
    /* Records why a call fails and returns `code`: `return env->fail(env->ctx, ...)`. */
    enum rung_status (*fail)(void *ctx, enum rung_status code, const char *fmt, ...);
    void (*log)(void *ctx, enum rung_log_level level, const char *fmt, ...);
    /* Records a fact about this run, e.g. note("cublas_version", "130100"). Copied. */
    void (*note)(void *ctx, const char *key, const char *value);
    uint64_t reserved[6];
};

/* Capabilities a kernel needs from its device. emu offers none of them. */
enum {
    RUNG_NEED_INLINE_PTX = 1 << 0,
    RUNG_NEED_TMA = 1 << 1,
    RUNG_NEED_CLUSTERS = 1 << 2,
    RUNG_NEED_TENSOR_CORES = 1 << 3,
    RUNG_NEED_CUDA_LIBRARY = 1 << 4 /* calls a library that works on a real GPU only */
};

/* Traits: promises that the core may test. */
enum {
    RUNG_TRAIT_DETERMINISTIC = 1 << 0,   /* same inputs, same bits, every time */
    RUNG_TRAIT_GRAPH_CAPTURABLE = 1 << 1,/* launch() may be captured into a CUDA graph */
    RUNG_TRAIT_LIBRARY_CALL = 1 << 2     /* the kernel is a vendor's, not ours */
};

/* One __global__ function, by name; all its instantiations share the name. */
struct rung_entry {
    const char *name;     /* unqualified: "sgemm_k3" */
    const void *function; /* its address for attribute queries; NULL if unknown */
};

/* One line of `rung describe`: {"largest N", "8192"}. */
struct rung_limit {
    const char *name;
    const char *value;
};

/*
 * The ledger: what the code itself says a case must cost, counted by hand in the
 * kernel's file. An FMA is one multiply-add of the operation (M*N*K of them in sgemm).
 * A field that does not apply is 0.
 */
struct rung_ledger {
    double gmem_bytes_per_output;   /* global bytes requested by threads, per output element */
    double requests_per_fma;        /* warp-level memory instructions per thread-level FMA */
    double smem_loads_per_fma;      /* shared loads per FMA whose lanes read distinct words */
    double smem_broadcasts_per_fma; /* shared loads per FMA whose lanes share a word */
    double gmem_loads_per_fma;      /* global load instructions per FMA, one thread's view */
    double passes;                  /* times each input element is read from global memory */
    double reserved[6];
};

struct rung_cost {
    double flops; /* 2 per FMA */
    double bytes; /* algorithmic: each input read once, each output written once */
    struct rung_ledger ledger;
};

/* How the object was built. Filled by RUNG_BUILD_FACTS from the build's -D flags. */
struct rung_build {
    const char *compiler;   /* "nvcc 13.0.88" */
    const char *arch_list;  /* "sm_89 sm_90 compute_90" */
    const char *build_type; /* "debugoptimized" */
    const char *sanitizer;  /* "none", "address,undefined" */
};

struct rung_plugin {
    uint32_t abi_major;   /* RUNG_ABI_MAJOR; must equal the core's */
    uint32_t abi_minor;   /* RUNG_ABI_MINOR; any the core supports */
    uint32_t struct_size; /* sizeof(struct rung_plugin) the plugin was built with */
    uint32_t sm_floor;    /* lowest compute capability it runs on, 80 for sm_80; 0 = any */

    const char *id;      /* [a-z][a-z0-9_]*, unique with `target` */
    const char *family;  /* "sgemm", "rmsnorm", "softmax" */
    const char *title;   /* a few words: "shared-memory tiles" */
    const char *summary; /* one line */
    const char *notes;   /* what this rung changes against the one below, what it should buy */
    const char *target;  /* "cuda", "emu", "cpu": RUNG_TARGET_NAME */
    struct rung_build build;

    uint64_t needs;  /* RUNG_NEED_* */
    uint64_t traits; /* RUNG_TRAIT_* */
    const struct rung_entry *entries;
    uint64_t n_entries;
    const struct rung_limit *limits;
    uint64_t n_limits;

    /* May this case be run? Cheap, no GPU. On false, writes why into reason[cap].
     * NULL: accepts every case of its family. */
    bool (*accepts)(const struct rung_case *c, char *reason, size_t cap);

    /* Device memory needed beside the operands; allocated and guarded by the core, one
     * for each set. NULL: none. */
    size_t (*workspace_bytes)(const struct rung_case *c);

    /* Everything that is not the kernel itself: handles, descriptors, attributes,
     * modules. May allocate and synchronise. *state is handed back to launch and finish.
     * NULL: nothing to prepare, and state is the case. Errors: env->fail. */
    enum rung_status (*prepare)(const struct rung_env *env, const struct rung_case *c,
                                const struct rung_set *sets, size_t n_sets, void **state);

    /* Enqueues the work of one set on `stream` and returns: no allocation, no
     * synchronisation, no other host work. On `cpu` it computes and returns. */
    enum rung_status (*launch)(void *state, const struct rung_set *set, void *stream);

    /* Releases what prepare made; the device is idle. Called only after a prepare that
     * returned RUNG_OK. NULL: nothing to release. */
    void (*finish)(void *state);

    /* FLOPs, algorithmic bytes and the ledger of a case. No GPU. */
    void (*cost)(const struct rung_case *c, struct rung_cost *out);

    const void *reserved[8]; /* zero */
};

/* ---- how a source file declares its plugin ------------------------------------ */

#define RUNG_PASTE4_(a, b, c, d) a##b##c##d
#define RUNG_PASTE4(a, b, c, d) RUNG_PASTE4_(a, b, c, d)
#define RUNG_STRING_(x) #x
#define RUNG_STRING(x) RUNG_STRING_(x)

#ifndef RUNG_TARGET /* set by the build: cuda, emu or cpu */
#ifdef __CUDACC__
#define RUNG_TARGET cuda
#else
#define RUNG_TARGET cpu
#endif
#endif
#ifndef RUNG_BUILD_COMPILER
#define RUNG_BUILD_COMPILER "unknown"
#endif
#ifndef RUNG_BUILD_ARCHS
#define RUNG_BUILD_ARCHS "unknown"
#endif
#ifndef RUNG_BUILD_TYPE
#define RUNG_BUILD_TYPE "unknown"
#endif
#ifndef RUNG_BUILD_SANITIZER
#define RUNG_BUILD_SANITIZER "none"
#endif

#define RUNG_TARGET_NAME RUNG_STRING(RUNG_TARGET)
#define RUNG_BUILD_FACTS \
    { RUNG_BUILD_COMPILER, RUNG_BUILD_ARCHS, RUNG_BUILD_TYPE, RUNG_BUILD_SANITIZER }

#ifdef __cplusplus
#define RUNG_EXTERN_C extern "C"
#else
#define RUNG_EXTERN_C extern
#endif

/*
 * RUNG_PLUGIN(k3) = { .abi_major = RUNG_ABI_MAJOR, ..., .id = "k3", ... };
 * defines the one exported symbol of the file. The build reads the id from this line.
 */
#define RUNG_PLUGIN_SYMBOL(ident) RUNG_PASTE4(rung_plugin_, ident, _, RUNG_TARGET)
#define RUNG_PLUGIN(ident)                                                                  \
    RUNG_EXTERN_C __attribute__((visibility("default"))) const struct rung_plugin           \
        RUNG_PLUGIN_SYMBOL(ident);                                                          \
    RUNG_EXTERN_C_DEFINE __attribute__((visibility("default"))) const struct rung_plugin    \
        RUNG_PLUGIN_SYMBOL(ident)
#ifdef __cplusplus
#define RUNG_EXTERN_C_DEFINE extern "C"
#else
#define RUNG_EXTERN_C_DEFINE
#endif

/* The first fields of every descriptor. */
#define RUNG_PLUGIN_HEAD                                                                    \
    .abi_major = RUNG_ABI_MAJOR, .abi_minor = RUNG_ABI_MINOR,                               \
    .struct_size = (uint32_t)sizeof(struct rung_plugin)

#ifdef __cplusplus
}
#endif
#endif
