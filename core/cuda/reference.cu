/*
 * The fp64 references on a GPU. Every element, whatever the size: 8192^3 must not be a
 * reason to verify a sample.
 *
 * sgemm: a 64x64 tile a block, 16 k at a time through shared memory, 4x4 outputs a
 * thread; each product is added twice, signed (fp64) and by magnitude (fp32, which only
 * scales the bound).
 */
#include "launch.cuh"

namespace {

constexpr int TILE = 64, DEPTH = 16, PER = 4, SIDE = TILE / PER;

struct sgemm_args {
    const float *a, *b, *c0;
    int64_t lda, ldb, row0, rows, n, k;
    double alpha, beta;
    struct rung_ref out;
};

__global__ void __launch_bounds__(SIDE *SIDE) sgemm_reference_kernel(sgemm_args p)
{
    __shared__ double as[DEPTH][TILE + 1], bs[DEPTH][TILE];
    const int64_t tiles_n = (p.n + TILE - 1) / TILE;
    const int64_t i0 = blockIdx.x / tiles_n * TILE, j0 = blockIdx.x % tiles_n * TILE;
    const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    double value[PER][PER] = {};
    float mag[PER][PER] = {};

    for (int64_t k0 = 0; k0 < p.k; k0 += DEPTH) {
        for (int e = threadIdx.x; e < TILE * DEPTH; e += SIDE * SIDE) {
            const int ai = e / DEPTH, ak = e % DEPTH, bk = e / TILE, bj = e % TILE;
            const bool a_in = i0 + ai < p.rows && k0 + ak < p.k;
            const bool b_in = k0 + bk < p.k && j0 + bj < p.n;
            as[ak][ai] = a_in ? p.a[(p.row0 + i0 + ai) * p.lda + k0 + ak] : 0.0;
            bs[bk][bj] = b_in ? p.b[(k0 + bk) * p.ldb + j0 + bj] : 0.0;
        }
        __syncthreads();
        const int depth = p.k - k0 < DEPTH ? static_cast<int>(p.k - k0) : DEPTH;
        for (int k = 0; k < depth; k++)
            for (int i = 0; i < PER; i++)
                for (int j = 0; j < PER; j++) {
                    const double x = as[k][ty + i * SIDE], y = bs[k][tx + j * SIDE];
                    value[i][j] = fma(x, y, value[i][j]);
                    mag[i][j] += fabsf(static_cast<float>(x) * static_cast<float>(y));
                }
        __syncthreads();
    }
    for (int i = 0; i < PER; i++)
        for (int j = 0; j < PER; j++) {
            const int64_t row = i0 + ty + i * SIDE, col = j0 + tx + j * SIDE;
            if (row >= p.rows || col >= p.n)
                continue;
            const double old = p.beta != 0.0 ? p.c0[(p.row0 + row) * p.n + col] : 0.0;
            const double product = p.k ? p.alpha * value[i][j] : 0.0;
            p.out.value[row * p.n + col] = product + p.beta * old;
            p.out.magnitude[row * p.n + col] = static_cast<float>(
                (p.k ? fabs(p.alpha) * mag[i][j] : 0.0) + fabs(p.beta * old));
        }
}

} // namespace

enum rung_status rung_cuda_sgemm_reference(const struct rung_case *c, const struct rung_set *set,
                                           const float *c0, int64_t row0, int64_t rows,
                                           struct rung_ref out, cudaStream_t stream,
                                           struct rung_err *err)
{
    sgemm_args p = {};
    p.a = static_cast<const float *>(set->operand[0].data);
    p.b = static_cast<const float *>(set->operand[1].data);
    p.c0 = c0;
    p.lda = c->ld[0];
    p.ldb = c->ld[1];
    p.row0 = row0;
    p.rows = rows;
    p.n = c->dim[1];
    p.k = c->alpha == 0.0f ? 0 : c->dim[2];
    p.alpha = c->alpha;
    p.beta = c->beta;
    p.out = out;
    const int64_t blocks = (rows + TILE - 1) / TILE * ((p.n + TILE - 1) / TILE);
    if (blocks > 0x7fffffff)
        return rung_fail(err, RUNG_E_USAGE, "sgemm reference: %lld tiles do not fit a grid",
                         static_cast<long long>(blocks));
    if (blocks)
        sgemm_reference_kernel<<<static_cast<unsigned>(blocks), SIDE * SIDE, 0, stream>>>(p);
    return RUNG_OK;
}
