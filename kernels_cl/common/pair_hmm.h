/* What the kernels of pair HMMs have in common: states, steps and results.

   Numbers are divided by what the model gives to each residue alone (its probability in a gap), so that matches have
   odds and gaps nothing to emit. They are single precision with a unit, a power of 2, that many of them share; where two
   of different units meet, one is multiplied by the ratio.

   The recurrences are those of clalign/reference/pair_hmm.py. Kept from cell to cell, forwards, are
     x     what goes into M of the next row and column
     y[k]  what I_k of the next row is
   and backwards
     z     the odds of the row and column times M
     v[k]  I_k of the row.

   Every device gives the same numbers, to the last digit: D along a row is computed in blocks of four columns, whose
   order of sums both shapes keep; a product that is added to something is fused with the sum (CPUs that cannot do so
   differ); units, being powers of 2, change no digits; and what is added up over many cells, by four rows of a column
   or by one, is made whole numbers first, so that no order of the sum matters. */

#ifndef SETS
#define SETS 2 /* of gap states: 1 or 2 */
#endif
#ifndef COUNTS
#define COUNTS 0
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#ifdef TILE_COLUMNS /* for CPUs: the function is slow where it is no instruction */
#pragma OPENCL FP_CONTRACT ON
#define FUSED(a, b, c) ((a) * (b) + (c))
#else
#define FUSED(a, b, c) fma(a, b, c)
#endif

/* What both shapes of the kernel are given (see kernels_cl/pair_hmm_vector.cl); `number_t` is what scratch is made of. */
#define PAIR_HMM_PARAMETERS(number_t)                                                                \
    __global const uchar *queries, __global const uchar *targets, __global const int8 *pairs,        \
    const uint n, __global const uchar *letters, const int n_letters, __global const float *odds,    \
    __global const float *steps, __global uint *next, __global number_t *scratch, const ulong room,  \
    __global float *results, RESULTS_OF_PAIRS
#if COUNTS
#define RESULTS_OF_PAIRS __global float *matches
#else
#define RESULTS_OF_PAIRS                                                                             \
    const float least, const uint n_entries, __global int2 *entries, __global float *values,         \
    __global uint2 *found, __global float *gaps
#endif

#define N_STATES (1 + 2 * SETS) /* M, I_k, D_k */
#define N_STEPS 8
#define MAX_LETTERS 20
#define N_HMM_RESULTS 12
#define MIN_GAP 1e-4f

/* Results: mantissa and exponent of the sum over all paths, and the same sum backwards over it; the share of M at the
   end; then for two sets each: extend, close, the share at the end, that at the start. */
enum { MANTISSA, EXPONENT, BACKWARDS, END_MATCH, EXTENDS, CLOSES = 6, ENDS = 8, STARTS = 10 };

static inline float power_of_2(int n)
{
    return n < -126 ? 0.0f : as_float((min(n, 126) + 127) << 23);
}

/* Probabilities as whole numbers: of a pair of residues that match, and of a step within four rows of a column. */
#define OF_MATCH 1073741824.0f
#define OF_STEPS 134217728.0f

#define TO_WHOLE(v, of) ((int)FUSED(v, of, 0.5f))
#define TO_WHOLES(v, of) convert_int8(FUSED(v, of, 0.5f))

/* The exponent of a number that is not below 0; 0 of 0. */
static inline int exponent_of(float v)
{
    const int bits = as_int(v) >> 23;
    return bits ? min(bits - 127, 126) : 0;
}

/* 1 / v of a number above 0, 0 of 0. The operator is not the same everywhere. */
static inline float reciprocal_of(float v)
{
    const int exponent = exponent_of(v);
    const ulong mantissa = (as_uint(v * power_of_2(-exponent)) & 0x7fffffu) | 0x800000u;
    return v > 0.0f ? (float)(uint)((1UL << 47) / mantissa) * power_of_2(-24 - exponent) : 0.0f;
}

/* What Forward comes to: of what is in the last cell, in a unit. */
static inline void write_total(float match, const float *gaps, float sum, float end, int unit, __global float *results)
{
    const float over_sum = reciprocal_of(sum), total = sum * end;
    const int exponent = exponent_of(total);
    for (int k = 0; k < 2; k++) {
        results[ENDS + k] = gaps[k] * over_sum;
        results[STARTS + k] = results[EXTENDS + k] = results[CLOSES + k] = 0.0f;
    }
    results[END_MATCH] = match * over_sum;
    results[MANTISSA] = total * power_of_2(-exponent);
    results[EXPONENT] = exponent + unit;
}
