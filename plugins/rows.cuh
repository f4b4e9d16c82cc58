/*
 * What the row kernels share, so that each file is about its own idea: arguments, the reduction
 * over a block, a row held in registers, and the cost that does not depend on the kernel.
 */
#ifndef RUNG_ROWS_CUH
#define RUNG_ROWS_CUH

#include <rung/gpu.h>

namespace {

/* Row-major rows of n elements, ld elements apart. */
struct row_args {
    const float *x, *w; /* w: rmsnorm's weights */
    float *y, *ws;      /* ws: workspace of the kernels that need one */
    int64_t ldx, ldy, rows;
    int n;
    float inv_n, eps;
};

struct add {
    __device__ float operator()(float a, float b) const { return a + b; }
    static constexpr float none = 0.0f;
};
struct larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
    /* Finite: the difference of two infinities would be NaN. */
    static constexpr float none = -3.402823466e+38f;
};

template <class Op> __device__ __forceinline__ float warp_reduce(float v, Op op)
{
    RUNG_UNROLL
    for (int d = 16; d > 0; d /= 2)
        v = op(v, __shfl_xor_sync(0xffffffffu, v, d));
    return v;
}

/* Over all threads of a block of whole warps; every thread gets the result. */
template <class Op> __device__ __forceinline__ float block_reduce(float v, Op op)
{
    __shared__ float part[32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    v = warp_reduce(v, op);
    if (warps == 1)
        return v;
    __syncthreads(); /* whoever reads the last reduction is done */
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    return warp_reduce(lane < warps ? part[lane] : Op::none, op);
}

/*
 * A row in registers, 4 * PER elements a thread: with VEC as float4, neighbouring threads
 * neighbouring quads; without, neighbouring threads neighbouring elements. Elements past the end of the
 * row are `pad` and are not stored.
 */
template <int PER, bool VEC> struct row_registers {
    float v[4 * PER];

    /* First element of a thread's quad i. */
    static __device__ __forceinline__ int place(int me, int i)
    {
        return 4 * (i * static_cast<int>(blockDim.x) + me);
    }

    __device__ __forceinline__ void load(const float *x, int n, float pad)
    {
        const int me = static_cast<int>(threadIdx.x);
        int at = me;
        (void)at;
        RUNG_UNROLL
        for (int i = 0; i < PER; i++) {
            if constexpr (VEC) {
                float4 q = make_float4(pad, pad, pad, pad);
                if (place(me, i) < n)
                    q = rung_load_keep(reinterpret_cast<const float4 *>(x + place(me, i)));
                v[4 * i] = q.x;
                v[4 * i + 1] = q.y;
                v[4 * i + 2] = q.z;
                v[4 * i + 3] = q.w;
            } else {
                RUNG_UNROLL
                for (int j = 0; j < 4; j++, at += static_cast<int>(blockDim.x)) {
                    v[4 * i + j] = at < n ? x[at] : pad;
                }
            }
        }
    }

    /* y = v * scale, times the weights where there are any. */
    template <bool WEIGHTS>
    __device__ __forceinline__ void store(float *y, int n, float scale, const float *w) const
    {
        const int me = static_cast<int>(threadIdx.x);
        int at = me;
        (void)at;
        RUNG_UNROLL
        for (int i = 0; i < PER; i++) {
            if constexpr (VEC) {
                if (place(me, i) >= n)
                    continue;
                float4 q = make_float4(v[4 * i] * scale, v[4 * i + 1] * scale, v[4 * i + 2] * scale,
                                       v[4 * i + 3] * scale);
                if constexpr (WEIGHTS) {
                    const float4 f = *reinterpret_cast<const float4 *>(w + place(me, i));
                    q = make_float4(q.x * f.x, q.y * f.y, q.z * f.z, q.w * f.w);
                }
                *reinterpret_cast<float4 *>(y + place(me, i)) = q;
            } else {
                RUNG_UNROLL
                for (int j = 0; j < 4; j++, at += static_cast<int>(blockDim.x)) {
                    if (at < n)
                        y[at] = v[4 * i + j] * scale * (WEIGHTS ? w[at] : 1.0f);
                }
            }
        }
    }
};

/* 512 threads may have 128 registers each; the addresses of 8 quads take as many as their values. */
constexpr int ROW_THREADS = 512, ROW_REGISTERS_MAX = 8 * 4 * ROW_THREADS;

/* Quads a thread for a row of n. What was fastest on an H200: 128 threads while 4 quads each do (and
 * as many blocks an SM as there is room for), then up to 512 threads, then longer rows a thread. */
inline int row_quads(int n)
{
    return n <= 128 ? 1 : n <= 1024 ? 2 : n <= 2048 ? 4 : n <= 4096 ? 2 : n <= 8192 ? 4 : 8;
}

/* Threads of a block for a row of n in registers at PER quads a thread: whole warps. */
inline unsigned row_threads(int n, int per)
{
    const int warps = (n + 4 * per * 32 - 1) / (4 * per * 32);
    return static_cast<unsigned>(32 * (warps < 1 ? 1 : warps));
}

/* Threads of a block that walks along a row of n: no more than there are elements. */
inline unsigned walk_threads(int n, unsigned most)
{
    const unsigned need = static_cast<unsigned>((n + 31) / 32 * 32);
    return need < most ? need : most;
}

/* May rows be moved 128 bits at a time? */
inline bool rows_aligned(const struct rung_set *set, int n)
{
    bool ok = n % 4 == 0;
    for (uint32_t i = 0; i < set->n_operands; i++)
        ok = ok && set->operand[i].align % 16 == 0 && set->operand[i].stride[0] % 4 == 0;
    return ok;
}

inline bool rows_accept(const struct rung_case *c, char *reason, size_t cap, int64_t longest,
                        const char *why)
{
    const bool ok = c->dim[1] <= longest && c->dim[0] <= 0x7fffffff;
    const char *text = c->dim[1] > longest ? why : "more than 2^31 - 1 rows";
    for (size_t j = 0; !ok && j < cap; j++)
        if (!(reason[j] = text[j]))
            break;
    return ok;
}

/* For kernels that hold a row in registers, and for those that walk along it. */
inline bool rows_accept_short(const struct rung_case *c, char *reason, size_t cap)
{
    return rows_accept(c, reason, cap, ROW_REGISTERS_MAX,
                       "a row longer than 16384 does not fit the registers of a block");
}
inline bool rows_accept_any(const struct rung_case *c, char *reason, size_t cap)
{
    return rows_accept(c, reason, cap, 0x7fffffff - 4096, "rows of 2^31 - 4096 elements or more");
}

/* Operands are x, (w,) y. */
inline row_args rows_unpack(const struct rung_case *c, const struct rung_set *set, bool weights)
{
    row_args p;
    p.x = static_cast<const float *>(set->operand[0].data);
    p.w = weights ? static_cast<const float *>(set->operand[1].data) : nullptr;
    p.y = static_cast<float *>(set->operand[weights ? 2 : 1].data);
    p.ws = static_cast<float *>(set->workspace);
    p.ldx = c->ld[0];
    p.ldy = c->ld[weights ? 2 : 1];
    p.rows = c->dim[0];
    p.n = static_cast<int>(c->dim[1]);
    p.inv_n = p.n > 0 ? 1.0f / static_cast<float>(p.n) : 0.0f;
    p.eps = c->eps;
    return p;
}

/* reads, writes: of each element of x and y, as the kernel does them. */
inline void rows_cost(const struct rung_case *c, struct rung_cost *out, double flops_each, double reads,
                      double writes, bool weights)
{
    const double n = static_cast<double>(c->dim[0]) * static_cast<double>(c->dim[1]);
    out->flops = flops_each * n;
    out->bytes = 8.0 * n + (weights ? 4.0 * static_cast<double>(c->dim[1]) : 0.0);
    out->ledger.passes = reads;
    out->ledger.gmem_bytes_per_output = 4.0 * (reads + writes + (weights ? 1.0 : 0.0));
}

} // namespace

#endif
