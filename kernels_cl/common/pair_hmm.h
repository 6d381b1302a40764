/* What the kernels of pair HMMs have in common: states, steps and results.

   Numbers are divided by what the model gives to each residue alone (its probability in a gap), so that matches have
   odds and gaps nothing to emit. They are single precision with a unit, a power of 2, that many of them share; where two
   of different units meet, one is multiplied by the ratio.

   The recurrences are those of clalign/reference/pair_hmm.py. Kept from cell to cell, forwards, are
     x     what goes into M of the next row and column
     y[k]  what I_k of the next row is
   and backwards
     z     the odds of the row and column times M
     v[k]  I_k of the row. */

#ifndef SETS
#define SETS 2 /* of gap states: 1 or 2 */
#endif
#ifndef COUNTS
#define COUNTS 0
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#define N_STATES (1 + 2 * SETS) /* M, I_k, D_k */
#define N_STEPS 8
#define N_HMM_RESULTS 12
#define LEAST_GAP 1e-4f

/* Results: mantissa and exponent of the sum over all paths, and the same sum backwards over it; the share of M at the
   end; then for two sets each: extend, close (without their probabilities), the share at the end, that at the start. */
enum { MANTISSA, EXPONENT, BACKWARDS, END_MATCH, EXTENDS, CLOSES = 6, ENDS = 8, STARTS = 10 };

static inline float power_of_2(int n)
{
    return n < -126 ? 0.0f : as_float((min(n, 126) + 127) << 23);
}

/* The exponent of a number that is not below 0; 0 of 0. */
static inline int exponent_of(float v)
{
    const int bits = as_int(v) >> 23;
    return bits ? min(bits - 127, 126) : 0;
}
