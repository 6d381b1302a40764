/* Vectors of signed scores, and sums of them that stay in their range.

   Macros
     WIDTH  8, 16 or 32: bits of a score; sums of 32 bits are plain, whoever uses them knows that they fit
     LANES  scores in a vector
     MASKS  1: where the processor has registers of masks, `larger_by_mask` makes use of them */

#include "common/vectors.h"

#ifndef WIDTH
#define WIDTH 8
#endif
#ifndef LANES
#define LANES 64
#endif
#ifndef MASKS
#define MASKS 0
#endif

#if WIDTH == 8
typedef char score_t;
typedef short wide_t;
#define LOWEST (-128)
#define HIGHEST 127
#elif WIDTH == 16
typedef short score_t;
typedef int wide_t;
#define LOWEST (-32768)
#define HIGHEST 32767
#else
typedef int score_t;
#define LOWEST INT_MIN
#define HIGHEST INT_MAX
#endif

typedef score_t scores_t __attribute__((ext_vector_type(LANES)));

/* Vectors wider than the processor's registers make compilers warn of calls; the functions here are inlined. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpsabi"
#endif

#if WIDTH == 32
#define SUM(a, b) ((a) + (b))
#else
typedef wide_t wide_scores_t __attribute__((ext_vector_type(LANES)));

/* Compilers know this way of writing a saturated sum and make one instruction of it. */
__attribute__((always_inline))
scores_t saturated_sum(const scores_t a, const scores_t b)
{
    wide_scores_t wide = __builtin_convertvector(a, wide_scores_t) + __builtin_convertvector(b, wide_scores_t);
    wide = wide > (wide_scores_t)(HIGHEST) ? (wide_scores_t)(HIGHEST) : wide;
    wide = wide < (wide_scores_t)(LOWEST) ? (wide_scores_t)(LOWEST) : wide;
    return __builtin_convertvector(wide, scores_t);
}
#define SUM(a, b) saturated_sum(a, b)
#endif

/* LARGER by a comparison and a choice. Of Intel's units with 64 bytes only one computes maxima, and it is the one that
   all wait for; the other one can do this. Compilers would make a maximum of it again. */
#if MASKS && WIDTH == 8 && LANES % 64 == 0 && defined(__AVX512BW__) && __has_builtin(__builtin_ia32_selectb_512)
#define HAS_MASKS 1
#else
#define HAS_MASKS 0
#endif

#if HAS_MASKS
typedef char all_bytes_t __attribute__((vector_size(64)));

__attribute__((always_inline))
scores_t larger_by_mask(const scores_t a, const scores_t b)
{
    scores_t larger;
#pragma unroll
    for (int k = 0; k < LANES / 64; k++) {
        const all_bytes_t x = ((const all_bytes_t *)&a)[k], y = ((const all_bytes_t *)&b)[k];
        ulong is_larger;
        __asm__("vpcmpgtb %2, %1, %0" : "=Yk"(is_larger) : "v"(x), "v"(y));
        ((all_bytes_t *)&larger)[k] = __builtin_ia32_selectb_512(is_larger, x, y);
    }
    return larger;
}
#else
#define larger_by_mask LARGER
#endif
