/*
 * The emu branch of rung/gpu.h: what nvcc and the CUDA runtime give a kernel source, for a
 * C++17 compiler and a CPU. The kernels are ordinary functions; each CUDA thread is a fiber of the
 * block scheduler in core/emu/, which is called here through a few C functions.
 *
 * It is there to find mistakes, so that everything a kernel may get wrong is checked where
 * it happens: who reaches a barrier, who takes part in a shuffle, which copy was waited for.
 */
#ifndef RUNG_EMU_H
#define RUNG_EMU_H

#include <rung/plugin.h>

#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

/* One block at a time runs on an OS thread, so that an OS thread's copy is the block's. Builds that
 * watch memory (the sanitizers) use one OS thread: they know the bounds of plain statics only. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define __shared__ static
#else
#define __shared__ static thread_local
#endif

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

/* ---- the scheduler, core/emu/ ---------------------------------------------------- */

/* What a thread knows of itself. */
struct rung_emu_thread {
    uint3 thread_index, block_index;
    dim3 block_size, grid_size;
    unsigned lane;
};

struct rung_emu_launch {
    const char *what;     /* the text of the launch, which names the kernel */
    const void *kernel;   /* its address */
    dim3 grid, block;
    size_t smem;          /* bytes of dynamic shared memory */
    void (*call)(void *); /* one thread's run */
    void *arg;
};

enum rung_emu_barrier_op { RUNG_EMU_SYNC, RUNG_EMU_COUNT, RUNG_EMU_AND, RUNG_EMU_OR };
enum rung_emu_warp_op { RUNG_EMU_SYNCWARP, RUNG_EMU_SHUFFLE, RUNG_EMU_BALLOT };

#define RUNG_EMU_API __attribute__((visibility("default")))
#define RUNG_EMU_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()
extern "C" {
/* The same for the whole life of a thread, so that it need be asked once. */
RUNG_EMU_API rung_emu_thread *rung_emu_self(void) __attribute__((const));
RUNG_EMU_API enum rung_status rung_emu_run(const struct rung_emu_launch *launch);
RUNG_EMU_API enum rung_status rung_emu_allow_smem(const void *kernel, size_t bytes);
RUNG_EMU_API void *rung_emu_dynamic_shared(void);
RUNG_EMU_API int rung_emu_barrier(int predicate, enum rung_emu_barrier_op op, const char *file,
                                  int line);
/* value and result have `bytes`, at most 16. source is the lane to read; ballot returns
 * the lanes with a predicate that is not 0. */
RUNG_EMU_API unsigned rung_emu_warp(unsigned mask, enum rung_emu_warp_op op, const void *value,
                                    size_t bytes, unsigned source, void *result, const char *file,
                                    int line);
RUNG_EMU_API void rung_emu_atomic(const void *at, size_t bytes, const char *file, int line);
RUNG_EMU_API void rung_emu_copy_async(void *to, const void *from, unsigned bytes, bool valid,
                                      const char *file, int line);
RUNG_EMU_API void rung_emu_copy_commit(void);
RUNG_EMU_API void rung_emu_copy_wait(unsigned pending);
}

#define threadIdx (rung_emu_self()->thread_index)
#define blockIdx (rung_emu_self()->block_index)
#define blockDim (rung_emu_self()->block_size)
#define gridDim (rung_emu_self()->grid_size)
constexpr int warpSize = 32;

/* ---- vector types ------------------------------------------------------------------ */

#define RUNG_EMU_VECTORS(T, name)                                                           \
    struct __attribute__((aligned(2 * sizeof(T)), may_alias)) name##2 {                     \
        T x, y;                                                                             \
    };                                                                                      \
    struct __attribute__((aligned(4 * sizeof(T)), may_alias)) name##4 {                     \
        T x, y, z, w;                                                                       \
    };                                                                                      \
    static inline name##2 make_##name##2(T x, T y) { return {x, y}; }                       \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
RUNG_EMU_VECTORS(float, float)
RUNG_EMU_VECTORS(int, int)
RUNG_EMU_VECTORS(unsigned, uint)
#undef RUNG_EMU_VECTORS

/* ---- functions of one thread --------------------------------------------------------- */

template <class T> inline T min(T a, T b) { return b < a ? b : a; }
template <class T> inline T max(T a, T b) { return a < b ? b : a; }
/* As CUDA has them: a NaN loses. */
static inline float min(float a, float b) { return std::fmin(a, b); }
static inline float max(float a, float b) { return std::fmax(a, b); }
static inline int64_t min(int64_t a, int b) { return min(a, static_cast<int64_t>(b)); }
static inline int64_t min(int a, int64_t b) { return min(static_cast<int64_t>(a), b); }
static inline int64_t max(int64_t a, int b) { return max(a, static_cast<int64_t>(b)); }
static inline int64_t max(int a, int64_t b) { return max(static_cast<int64_t>(a), b); }

static inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
static inline float __frsqrt_rn(float x) { return 1.0f / std::sqrt(x); }
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __frcp_rn(float a) { return 1.0f / a; }
/* glibc declares these names; the fast versions of a GPU are exact here. */
#define __expf(x) std::exp(static_cast<float>(x))
#define __logf(x) std::log(static_cast<float>(x))

template <class To, class From> inline To rung_emu_bits(From v)
{
    static_assert(sizeof(To) == sizeof(From), "");
    To out;
    std::memcpy(&out, &v, sizeof out);
    return out;
}
static inline int __float_as_int(float v) { return rung_emu_bits<int>(v); }
static inline unsigned __float_as_uint(float v) { return rung_emu_bits<unsigned>(v); }
static inline float __int_as_float(int v) { return rung_emu_bits<float>(v); }
static inline float __uint_as_float(unsigned v) { return rung_emu_bits<float>(v); }
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __clz(int v) { return v ? __builtin_clz(static_cast<unsigned>(v)) : 32; }

template <class T> inline T __ldg(const T *p) { return *p; }
template <class T> inline T __ldcs(const T *p) { return *p; }
template <class T> inline void __stcs(T *p, T v) { *p = v; }
static inline void __threadfence() {}
static inline void __threadfence_block() {}

/* ---- barriers, shuffles, votes ----------------------------------------------------------- */

static inline void __syncthreads(RUNG_EMU_HERE) { rung_emu_barrier(0, RUNG_EMU_SYNC, file, line); }
static inline int __syncthreads_count(int p, RUNG_EMU_HERE)
{
    return rung_emu_barrier(p, RUNG_EMU_COUNT, file, line);
}
static inline int __syncthreads_and(int p, RUNG_EMU_HERE)
{
    return rung_emu_barrier(p, RUNG_EMU_AND, file, line);
}
static inline int __syncthreads_or(int p, RUNG_EMU_HERE)
{
    return rung_emu_barrier(p, RUNG_EMU_OR, file, line);
}
static inline void __syncwarp(unsigned mask = ~0u, RUNG_EMU_HERE)
{
    rung_emu_warp(mask, RUNG_EMU_SYNCWARP, nullptr, 0, 0, nullptr, file, line);
}

template <class T>
inline T rung_emu_shuffle(unsigned mask, T v, unsigned source, const char *file, int line)
{
    static_assert(sizeof(T) <= 16, "a shuffle moves at most 16 bytes here");
    T out;
    rung_emu_warp(mask, RUNG_EMU_SHUFFLE, &v, sizeof v, source, &out, file, line);
    return out;
}
template <class T>
inline T __shfl_sync(unsigned mask, T v, int source, int width = 32, RUNG_EMU_HERE)
{
    const int lane = static_cast<int>(rung_emu_self()->lane);
    return rung_emu_shuffle(mask, v, (lane & ~(width - 1)) + (source & (width - 1)), file, line);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32, RUNG_EMU_HERE)
{
    const int lane = static_cast<int>(rung_emu_self()->lane), first = lane & ~(width - 1);
    const int source = lane - static_cast<int>(delta);
    return rung_emu_shuffle(mask, v, source < first ? lane : source, file, line);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32, RUNG_EMU_HERE)
{
    const int lane = static_cast<int>(rung_emu_self()->lane), last = lane | (width - 1);
    const int source = lane + static_cast<int>(delta);
    return rung_emu_shuffle(mask, v, source > last ? lane : source, file, line);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T v, int flip, int width = 32, RUNG_EMU_HERE)
{
    const int lane = static_cast<int>(rung_emu_self()->lane), source = lane ^ flip;
    return rung_emu_shuffle(mask, v, source > (lane | (width - 1)) ? lane : source, file, line);
}
static inline unsigned __ballot_sync(unsigned mask, int p, RUNG_EMU_HERE)
{
    return rung_emu_warp(mask, RUNG_EMU_BALLOT, &p, sizeof p, 0, nullptr, file, line);
}
static inline int __any_sync(unsigned mask, int p, RUNG_EMU_HERE)
{
    return __ballot_sync(mask, p, file, line) != 0;
}
static inline int __all_sync(unsigned mask, int p, RUNG_EMU_HERE)
{
    return __ballot_sync(mask, p, file, line) == mask;
}

/* ---- atomics: indivisible between OS threads, and said to be so ------------------------ */

#define RUNG_EMU_ATOMIC __attribute__((no_sanitize("thread"), noinline))

template <class T, class F> RUNG_EMU_ATOMIC T rung_emu_update(T *at, F change, const char *file, int line)
{
    rung_emu_atomic(at, sizeof *at, file, line);
    T seen, next;
    __atomic_load(at, &seen, __ATOMIC_RELAXED);
    do
        next = change(seen);
    while (!__atomic_compare_exchange(at, &seen, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return seen;
}
template <class T, class U> inline T atomicAdd(T *at, U v, RUNG_EMU_HERE)
{
    return rung_emu_update(at, [v](T x) { return static_cast<T>(x + v); }, file, line);
}
template <class T, class U> inline T atomicMax(T *at, U v, RUNG_EMU_HERE)
{
    return rung_emu_update(at, [v](T x) { return max(x, static_cast<T>(v)); }, file, line);
}
template <class T, class U> inline T atomicMin(T *at, U v, RUNG_EMU_HERE)
{
    return rung_emu_update(at, [v](T x) { return min(x, static_cast<T>(v)); }, file, line);
}
template <class T, class U> inline T atomicExch(T *at, U v, RUNG_EMU_HERE)
{
    return rung_emu_update(at, [v](T) { return static_cast<T>(v); }, file, line);
}
template <class T, class U, class V> inline T atomicCAS(T *at, U old, V v, RUNG_EMU_HERE)
{
    return rung_emu_update(
        at, [old, v](T x) { return x == static_cast<T>(old) ? static_cast<T>(v) : x; }, file, line);
}

/* ---- what rung/gpu.h names ---------------------------------------------------------------- */

#define RUNG_DYNAMIC_SHARED(type, name) type *name = static_cast<type *>(rung_emu_dynamic_shared())
#define RUNG_UNROLL
#define RUNG_UNROLL_BY(n)

template <int BYTES>
inline void rung_cp_async(void *smem, const void *gmem, bool valid = true, RUNG_EMU_HERE)
{
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async moves 4, 8 or 16 bytes");
    rung_emu_copy_async(smem, gmem, BYTES, valid, file, line);
}
static inline void rung_cp_async_commit() { rung_emu_copy_commit(); }
template <int N> inline void rung_cp_async_wait() { rung_emu_copy_wait(N); }

template <class T> inline T rung_load_streaming(const T *p) { return *p; }
template <class T> inline void rung_store_streaming(T *p, T v) { *p = v; }

static inline float4 rung_load_keep(const float4 *p) { return *p; }

/* No clusters here: a source that has another path too compiles, and that one is taken. */
static inline unsigned rung_cluster_rank() { return 0; }
static inline void rung_cluster_sync() {}
static inline float rung_cluster_read(const float *smem, unsigned) { return *smem; }
template <class... A> inline enum rung_status rung_launch_cluster(A &&...) { return RUNG_E_UNAVAILABLE; }

template <class... P> inline enum rung_status rung_allow_smem(void (*kernel)(P...), size_t bytes)
{
    return rung_emu_allow_smem(reinterpret_cast<const void *>(kernel), bytes);
}

template <class... P, class... A>
inline enum rung_status rung_emu_start(const char *what, void (*kernel)(P...), dim3 grid, dim3 block,
                                       size_t smem, void *, A &&...args)
{
    /* Arguments go by value, as a launch's do: each thread gets its own copy. */
    std::tuple<P...> packed(static_cast<A &&>(args)...);
    auto thread = [&] { std::apply(kernel, packed); };
    const rung_emu_launch launch = {
        what, reinterpret_cast<const void *>(kernel), grid, block, smem,
        [](void *arg) { (*static_cast<decltype(thread) *>(arg))(); }, &thread};
    return rung_emu_run(&launch);
}
#define rung_launch(...) rung_emu_start(#__VA_ARGS__, __VA_ARGS__)

#endif
