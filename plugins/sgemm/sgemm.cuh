/*
 * What the SGEMM rungs share, so that each file is about its own idea: the arguments of a
 * launch, the last step of an output, and the cost that does not depend on the kernel.
 */
#ifndef RUNG_SGEMM_CUH
#define RUNG_SGEMM_CUH

#include <rung/gpu.h>

namespace {

/* C[m,n] = alpha * A[m,k] * B[k,n] + beta * C, row-major, passed to kernels by value. */
struct sgemm_args {
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc;
    int m, n, k;
    float alpha, beta;
};

/* k of 0 stands for alpha == 0 too: neither reads A or B. */
inline sgemm_args sgemm_unpack(const void *state, const struct rung_set *set)
{
    const struct rung_case *c = static_cast<const struct rung_case *>(state);
    sgemm_args p;
    p.a = static_cast<const float *>(set->operand[0].data);
    p.b = static_cast<const float *>(set->operand[1].data);
    p.c = static_cast<float *>(set->operand[2].data);
    p.lda = c->ld[0];
    p.ldb = c->ld[1];
    p.ldc = c->ld[2];
    p.m = static_cast<int>(c->dim[0]);
    p.n = static_cast<int>(c->dim[1]);
    p.k = c->alpha == 0.0f ? 0 : static_cast<int>(c->dim[2]);
    p.alpha = c->alpha;
    p.beta = c->beta;
    return p;
}

/* One dimension stays below 2^31; the matrix, its rows times its stride, need not. */
inline bool sgemm_accepts(const struct rung_case *c, char *reason, size_t cap)
{
    static const char why[] = "each of M, N, K must be below 2^31 - 4096";
    for (int i = 0; i < 3; i++)
        if (c->dim[i] >= 0x7fffffff - 4096) {
            for (size_t j = 0; j < cap && j < sizeof why; j++)
                reason[j] = why[j];
            return false;
        }
    return true;
}

/* beta == 0 must not read C: NaN times zero is NaN. */
__device__ __forceinline__ float sgemm_output(const sgemm_args &p, float sum, const float *c)
{
    return p.beta != 0.0f ? p.alpha * sum + p.beta * *c : p.alpha * sum;
}

/* Four neighbouring outputs of a row that exists; those past N are left out. */
template <bool VEC>
__device__ __forceinline__ void sgemm_store4(const sgemm_args &p, int64_t row, int col,
                                             const float *sum)
{
    float *c = p.c + row * p.ldc + col;
    if (VEC && col + 3 < p.n) {
        float4 v = make_float4(p.alpha * sum[0], p.alpha * sum[1], p.alpha * sum[2],
                               p.alpha * sum[3]);
        if (p.beta != 0.0f) {
            const float4 old = *reinterpret_cast<const float4 *>(c);
            v.x += p.beta * old.x;
            v.y += p.beta * old.y;
            v.z += p.beta * old.z;
            v.w += p.beta * old.w;
        }
        *reinterpret_cast<float4 *>(c) = v;
        return;
    }
    RUNG_UNROLL
    for (int j = 0; j < 4; j++)
        if (col + j < p.n)
            c[j] = sgemm_output(p, sum[j], c + j);
}

inline void sgemm_cost(const struct rung_case *c, struct rung_cost *out)
{
    const double m = static_cast<double>(c->dim[0]), n = static_cast<double>(c->dim[1]);
    const double k = static_cast<double>(c->dim[2]);
    out->flops = 2.0 * m * n * k;
    out->bytes = 4.0 * (m * k + k * n + m * n * (c->beta != 0.0f ? 2.0 : 1.0));
}

/* May 16-byte accesses be used? Every row of every operand must start on 16 bytes. */
inline bool sgemm_aligned(const struct rung_set *set)
{
    for (int i = 0; i < 3; i++)
        if (set->operand[i].align % 16 || set->operand[i].stride[0] % 4)
            return false;
    return true;
}

/* Tile of a block: a 1-D grid (the other dimensions end at 65535), rows of tiles in bands of
 * `band`, down a band before across it, so that blocks in flight share rows of A and
 * columns of B in L2. */
__device__ __forceinline__ void sgemm_tile(int tiles_m, int tiles_n, int band, int *tm, int *tn)
{
    const int64_t per_band = static_cast<int64_t>(band) * tiles_n;
    const int b = static_cast<int>(blockIdx.x / per_band);
    const int rows = min(band, tiles_m - b * band);
    const int at = static_cast<int>(blockIdx.x - b * per_band);
    *tm = b * band + at % rows;
    *tn = at / rows;
}

} // namespace

#endif
