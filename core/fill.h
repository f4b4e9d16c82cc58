/*
 * What every device must compute alike: the contents of operands from a seed, the
 * checksum of a word, and the bit patterns of poison and canaries. Header only, shared
 * by the host and by core/cuda/.
 */
#ifndef RUNG_FILL_H
#define RUNG_FILL_H

#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__)
#define RUNG_HD __host__ __device__
#else
#define RUNG_HD
#endif

/* Both are NaNs: a kernel that reads a guard, the padding of a row or its own unwritten
 * output carries NaN into its result and is seen. The poison is a signalling NaN: arithmetic
 * turns it quiet, so what still has these very bits was never written. */
#define RUNG_CANARY_BITS 0x7fe1c0deu /* guards and row padding */
#define RUNG_POISON_BITS 0xff91ed01u /* outputs before a launch */

enum rung_fill_kind {
    RUNG_FILL_INTS,    /* whole numbers in [-range, range] */
    RUNG_FILL_UNIFORM, /* floats in [-1, 1), 24 random bits */
    RUNG_FILL_BITS     /* the same 32 bits everywhere */
};

struct rung_fill {
    enum rung_fill_kind kind;
    int32_t range; /* INTS */
    uint32_t bits; /* BITS */
    uint64_t seed;
};

/* splitmix64's finaliser: a bijection that spreads every input bit. */
static inline RUNG_HD uint64_t rung_mix64(uint64_t z)
{
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static inline RUNG_HD uint32_t rung_float_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* Bits of element `index` (row * cols + col, padding not counted). */
static inline RUNG_HD uint32_t rung_fill_value(struct rung_fill f, uint64_t index)
{
    if (f.kind == RUNG_FILL_BITS)
        return f.bits;
    const uint64_t h = rung_mix64(f.seed ^ rung_mix64(index));
    if (f.kind == RUNG_FILL_INTS)
        return rung_float_bits((float)((int32_t)((h >> 32) % (uint64_t)(2 * f.range + 1)) - f.range));
    return rung_float_bits((float)(int32_t)(h >> 40) * (1.0f / 8388608.0f) - 1.0f);
}

/* Contribution of one 32-bit word to a checksum; contributions are added mod 2^64, so
 * order of evaluation does not matter while position does. */
static inline RUNG_HD uint64_t rung_checksum_word(uint64_t index, uint32_t word)
{
    return rung_mix64(rung_mix64(index) ^ word);
}

#endif
