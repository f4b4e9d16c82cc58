/*
 * k7: warp tiles, with the next tile and the next operands always under way.
 *
 * In k6 a warp's 32 patches lie in 2 rows of 16: each k-step it reads 2 + 16 quads of A and B for
 * 2048 FMAs. Here a warp owns a compact tile of 128x32, 16x8 outputs a thread, and reads 32 + 8
 * for 4096; and three waits are taken out of the way of the multiplier:
 *   - two stages of shared memory: while one is used, B of the next tile is copied by cp.async,
 *     past the registers, and A is fetched, turned and stored. One barrier a tile.
 *   - two sets of fragments: a k-step multiplies what the step before has loaded.
 *   - lanes in Z order: lanes 1 and 2 apart share an address, which a 128-bit load serves at once.
 * alpha multiplies every sum even when it is 1: the product may go to another register than the
 * sum, which leaves the compiler free to place the 128 sums where their reads do not
 * collide in the register banks.
 *
 * Ledger of the large tiling, per k of a warp: 6 shared loads for 128 FMAs a thread, 95.5% FMA;
 * the copies add (LDG + 4 STS + 2 LDGSTS) / 8. Global loads 3/1024 per FMA. Bytes requested per
 * output: 4K/256 + 4K/128 + 4.
 *
 * Edges: rows and columns past M and N are clamped, not skipped: what they compute is never
 * stored. A last partial tile of K is taken FIRST, with zeros where there is no k, so that
 * the loop has no test in it.
 */
#include "sgemm.cuh"

namespace {

/* Block tile, lanes of a warp, quads of 4x4 a thread, blocks an SM. */
template <int BM_, int BN_, int BK_, int LM_, int LN_, int QM_, int QN_, int BLOCKS_> struct tiling {
    static constexpr int BM = BM_, BN = BN_, BK = BK_, LM = LM_, LN = LN_, QM = QM_, QN = QN_;
    static constexpr int BLOCKS = BLOCKS_;
    static constexpr int TM = 4 * QM, TN = 4 * QN;   /* outputs a thread */
    static constexpr int WM = LM * TM, WN = LN * TN; /* outputs a warp */
    static constexpr int WARPS_M = BM / WM, WARPS_N = BN / WN, THREADS = 32 * WARPS_M * WARPS_N;
    static constexpr int LDA_S = BM + 4; /* rows on 16 bytes, fewer conflicts when A is turned */
    static constexpr int A_STEP = THREADS / (BK / 4), A_COPIES = BM / A_STEP; /* float4 of A */
    static constexpr int B_STEP = THREADS / (BN / 4), B_COPIES = BK / B_STEP; /* float4 of B */
    static_assert(LM * LN == 32 && BM % WM == 0 && BN % WN == 0 && BK % 2 == 0, "");
    static_assert(A_STEP * A_COPIES == BM && B_STEP * B_COPIES == BK, "");
};
using large = tiling<128, 256, 8, 8, 4, 4, 2, 1>;  /* 256 threads, 128x32 a warp */
using medium = tiling<128, 128, 8, 4, 8, 4, 2, 2>; /* 128 threads, 64x64 a warp */
using small = tiling<64, 64, 16, 4, 8, 2, 1, 4>;   /* 128 threads, 32x32 a warp */

template <class T> struct stage {
    float a[T::BK][T::LDA_S], b[T::BK][T::BN];
};

/* Bits 0, 2, 4 and 1, 3 of the lane, or the other way round: the Z order. */
template <class T> __device__ __forceinline__ void lane_map(int lane, int *lm, int *ln)
{
    const int even = (lane & 1) | (lane >> 1 & 2), odd = (lane >> 1 & 1) | (lane >> 2 & 2);
    *lm = T::LM == 8 ? odd | (lane >> 2 & 4) : odd;
    *ln = T::LN == 8 ? even | (lane >> 2 & 4) : even;
}

__device__ __forceinline__ float4 load_if(const float *at, int valid)
{
    return make_float4(valid > 0 ? at[0] : 0.0f, valid > 1 ? at[1] : 0.0f,
                       valid > 2 ? at[2] : 0.0f, valid > 3 ? at[3] : 0.0f);
}

template <class T, bool VEC>
__global__ void __launch_bounds__(T::THREADS, VEC ? T::BLOCKS : 1) sgemm_k7(sgemm_args p)
{
    __shared__ __align__(16) stage<T> s[2];
    __shared__ int2 corner[T::THREADS]; /* kept here while the loop needs every register */
    int tile_m, tile_n, lm, ln;
    sgemm_tile((p.m + T::BM - 1) / T::BM, (p.n + T::BN - 1) / T::BN, 8, &tile_m, &tile_n);
    lane_map<T>(threadIdx.x % 32, &lm, &ln);
    const int row0 = tile_m * T::BM, col0 = tile_n * T::BN, warp = threadIdx.x / 32;
    const int fm = warp / T::WARPS_N * T::WM + lm * 4; /* first row of this thread's patch */
    const int fn = warp % T::WARPS_N * T::WN + ln * 4;

    corner[threadIdx.x] = make_int2(row0 + fm, col0 + fn);

    /* What this thread copies: four k of rows am + i * A_STEP, four columns of k bk + i * B_STEP. */
    const int am = threadIdx.x / (T::BK / 4), ak = threadIdx.x % (T::BK / 4) * 4;
    const int bk = threadIdx.x / (T::BN / 4), bn = threadIdx.x % (T::BN / 4) * 4;
    const float *a[T::A_COPIES];
    RUNG_UNROLL
    for (int i = 0; i < T::A_COPIES; i++)
        a[i] = p.a + min(row0 + am + i * T::A_STEP, p.m - 1) * p.lda + ak;
    const float *b = p.b + bk * p.ldb + (VEC ? min(col0 + bn, p.n - 4) : col0 + bn);
    const int64_t b_step = T::B_STEP * p.ldb;
    float4 na[T::A_COPIES];

    const auto turn_a = [&](stage<T> &to) {
        RUNG_UNROLL
        for (int i = 0; i < T::A_COPIES; i++) {
            const int m = am + i * T::A_STEP;
            to.a[ak + 0][m] = na[i].x;
            to.a[ak + 1][m] = na[i].y;
            to.a[ak + 2][m] = na[i].z;
            to.a[ak + 3][m] = na[i].w;
        }
    };
    /* One row of B of the tile: columns past N are zero or, where 128 bits move, some others. */
    const auto copy_b = [&](float *to, const float *from, bool valid) {
        if (VEC) {
            rung_cp_async<16>(to, from, valid);
        } else {
            RUNG_UNROLL
            for (int j = 0; j < 4; j++) {
                const bool in = valid && col0 + bn + j < p.n;
                rung_cp_async<4>(to + j, in ? from + j : p.b, in);
            }
        }
    };

    /* The first tile: the partial one if K has one. */
    const int full = p.k / T::BK, rest = p.k % T::BK, k0 = rest ? full * T::BK : 0;
    if (p.k > 0) {
        RUNG_UNROLL
        for (int i = 0; i < T::A_COPIES; i++)
            na[i] = load_if(a[i] + k0, p.k - k0 - ak);
        RUNG_UNROLL
        for (int i = 0; i < T::B_COPIES; i++) {
            const int k = bk + i * T::B_STEP;
            const bool in = k0 + k < p.k;
            copy_b(&s[0].b[k][bn], in ? b + (k0 + i * T::B_STEP) * p.ldb : p.b, in);
        }
        turn_a(s[0]);
    }
    rung_cp_async_commit();
    if (!rest) { /* it was the first full one */
        RUNG_UNROLL
        for (int i = 0; i < T::A_COPIES; i++)
            a[i] += T::BK;
        b += T::BK * p.ldb;
    }
    rung_cp_async_wait<0>();
    __syncthreads();

    float sum[T::TM][T::TN] = {}, fa[2][T::TM], fb[2][T::TN];
    const auto load_fragments = [&](const stage<T> &from, int k, int to) {
        RUNG_UNROLL
        for (int q = 0; q < T::QM; q++)
            *reinterpret_cast<float4 *>(&fa[to][4 * q]) =
                *reinterpret_cast<const float4 *>(&from.a[k][fm + q * 4 * T::LM]);
        RUNG_UNROLL
        for (int q = 0; q < T::QN; q++)
            *reinterpret_cast<float4 *>(&fb[to][4 * q]) =
                *reinterpret_cast<const float4 *>(&from.b[k][fn + q * 4 * T::LN]);
    };

    int now = 0, left = full + (rest > 0);
    if (left > 0)
        load_fragments(s[0], 0, 0);
    for (; left > 0; left--) {
        const bool more = left > 1;
        if (more) {
            RUNG_UNROLL
            for (int i = 0; i < T::A_COPIES; i++) {
                na[i] = VEC ? *reinterpret_cast<const float4 *>(a[i]) : load_if(a[i], 4);
                a[i] += T::BK;
            }
            RUNG_UNROLL
            for (int i = 0; i < T::B_COPIES; i++)
                copy_b(&s[now ^ 1].b[bk + i * T::B_STEP][bn], b, true), b += b_step;
            rung_cp_async_commit();
        }
        RUNG_UNROLL
        for (int k = 0; k < T::BK; k++) {
            if (k == T::BK - 2 && more)
                turn_a(s[now ^ 1]);
            if (k == T::BK - 1) {
                rung_cp_async_wait<0>();
                __syncthreads(); /* the next stage is whole; nobody reads this one any more */
                now ^= 1;
            }
            if (k < T::BK - 1 || more)
                load_fragments(s[now], (k + 1) % T::BK, (k + 1) % 2);
            RUNG_UNROLL
            for (int i = 0; i < T::TM; i++)
                RUNG_UNROLL
                for (int j = 0; j < T::TN; j++)
                    sum[i][j] += fa[k % 2][i] * fb[k % 2][j];
        }
    }

    const int2 at = corner[threadIdx.x];
    RUNG_UNROLL
    for (int i = 0; i < T::TM; i++) {
        const int row = at.x + i / 4 * 4 * T::LM + i % 4;
        if (row >= p.m)
            continue;
        RUNG_UNROLL
        for (int q = 0; q < T::QN; q++)
            sgemm_store4<VEC>(p, row, at.y + q * 4 * T::LN, &sum[i][4 * q]);
    }
}

template <class T>
enum rung_status start(const sgemm_args &p, const struct rung_set *set, void *stream)
{
    const unsigned blocks = rung_blocks(p.m, T::BM) * rung_blocks(p.n, T::BN);
    const bool vec = sgemm_aligned(set) && p.n % 4 == 0;
    if (!blocks)
        return RUNG_OK;
    return rung_launch(vec ? sgemm_k7<T, true> : sgemm_k7<T, false>, dim3(blocks),
                       dim3(T::THREADS), 0, stream, p);
}

template <class T> int64_t tiles(const sgemm_args &p)
{
    return static_cast<int64_t>(rung_blocks(p.m, T::BM)) * rung_blocks(p.n, T::BN);
}

/* Large tiles reuse more, small ones are more: the largest that keeps the SMs busy. */
enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const struct rung_case *c = static_cast<const struct rung_case *>(state);
    const sgemm_args p = sgemm_unpack(state, set);
    const int64_t sms = c->sm_count ? c->sm_count : 4;
    if (tiles<large>(p) >= 2 * sms)
        return start<large>(p, set, stream);
    return tiles<medium>(p) >= sms ? start<medium>(p, set, stream) : start<small>(p, set, stream);
}

void cost(const struct rung_case *c, struct rung_cost *out)
{
    using T = large;
    sgemm_cost(c, out);
    const double k = static_cast<double>(c->dim[2]);
    const double copies = 5.0 * T::A_COPIES + T::B_COPIES; /* LDG and 4 STS of A, LDGSTS of B */
    out->ledger.gmem_bytes_per_output = 4.0 * k / T::BM + 4.0 * k / T::BN + 4.0;
    out->ledger.requests_per_fma =
        (T::QM + T::QN + copies / T::BK) / (32.0 * T::TM * T::TN);
    out->ledger.smem_loads_per_fma = static_cast<double>(T::QN) / (T::TM * T::TN);
    out->ledger.smem_broadcasts_per_fma = static_cast<double>(T::QM) / (T::TM * T::TN);
    out->ledger.gmem_loads_per_fma =
        static_cast<double>(T::A_COPIES + T::B_COPIES) / (T::BK * T::TM * T::TN);
}

const struct rung_entry entries[] = {{"sgemm_k7", RUNG_KERNEL_ADDRESS((sgemm_k7<large, true>))}};
const struct rung_limit limits[] = {
    {"shape", "any M, N, K below 2^31, any stride and offset"},
    {"128-bit path", "needs operands on 16 bytes, leading dimensions and N of 4n, else scalar"},
    {"tiles", "128x256 for two waves of them or more, 128x128 for one, else 64x64"}};

} // namespace

RUNG_PLUGIN(k7) = {
    RUNG_PLUGIN_HEAD,
    .sm_floor = 80,
    .id = "k7",
    .family = "sgemm",
    .title = "warp tiles, double-buffered",
    .summary = "128x32 a warp, cp.async into two stages, fragments loaded a step ahead",
    .notes = "Against k6: compact warp tiles need fewer words from shared memory, and fetching the "
             "next tile and the next operands overlaps the multiplication. Buys the waits.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .traits = RUNG_TRAIT_DETERMINISTIC | RUNG_TRAIT_GRAPH_CAPTURABLE,
    .entries = entries,
    .n_entries = 1,
    .limits = limits,
    .n_limits = sizeof limits / sizeof limits[0],
    .accepts = sgemm_accepts,
    .launch = launch,
    .cost = cost,
};
