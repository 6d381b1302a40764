/* HMMER3's bias filter: Forward of two states that emit the background and the model's composition.

   A work-item takes one sequence after the other. Sums are scaled by powers of two after every BLOCK
   residues, which costs no accuracy; the recurrence is that of clalign/reference/bias_filter.py.

   Buffers
     codes      uchar[n_residues]   letter codes, sequence after sequence
     offsets    int[n_rows + 1]     where each begins
     null_loop, null   float[n_rows]   of the null model: its transition, its score in nats
     rows       int[n]              those to be scored
     n          uint[1]
     ratios     float[N_CODES]      how much likelier each letter is in the composition
     next       uint[1]             in: 0; the next place in `rows` to be taken
     scores     float[n]            out: nats; not a number without residues

   Scalars: leave, remain   from the composition to the background, and on

   Macros
     BLOCK      residues between scalings
     SABOTAGE   1 plants a fault, for the test of the tests

   Geometry: any number of work-items, any work-groups; they take sequences from a counter.
   Local memory: N_CODES * 4 bytes. */

#ifndef BLOCK
#define BLOCK 8
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#include "common/codes.h"

#define LN_2 0.69314718055994531f

typedef struct {
    float plain, composed;
    int exponent; /* both are to be multiplied by this power of two */
} bias_state_t;

/* Bring the larger of the two near to 1. */
void rescale(bias_state_t *s)
{
    const int exponent = (as_int(s->plain + s->composed) >> 23) - 127;
    const float factor = as_float((127 - exponent) << 23);
    s->plain *= factor;
    s->composed *= factor;
    s->exponent += exponent;
}

void next_residue(bias_state_t *s, float ratio, float stay, float move, float leave, float remain)
{
    const float plain = s->plain * stay + s->composed * (SABOTAGE ? remain : leave);
    s->composed = (s->plain * move + s->composed * remain) * ratio;
    s->plain = plain;
}

__kernel void bias_filter(__global const uchar *codes, __global const int *offsets, __global const float *null_loop,
                          __global const float *null, __global const int *rows, __global const uint *n,
                          __global const float *ratios, const float leave, const float remain,
                          __global uint *next, __global float *scores)
{
    __local float ratio[N_CODES];
    for (uint k = get_local_id(0); k < N_CODES; k += get_local_size(0)) ratio[k] = ratios[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint p = atomic_inc(next); p < *n; p = atomic_inc(next)) {
        const int row = rows[p], length = offsets[row + 1] - offsets[row];
        if (length == 0) {
            scores[p] = NAN;
            continue;
        }
        __global const uchar *code = codes + offsets[row];
        const float stay = null_loop[row], move = 1.0f - stay;
        bias_state_t s = {0.999f, 0.001f * ratio[code[0]], 0};
        int i = 1;
        for (; i + BLOCK <= length; i += BLOCK) {
            float ratios_ahead[BLOCK]; /* read before they are needed: only the sums have to wait for each other */
#pragma unroll
            for (int k = 0; k < BLOCK; k++) ratios_ahead[k] = ratio[code[i + k]];
#pragma unroll
            for (int k = 0; k < BLOCK; k++) next_residue(&s, ratios_ahead[k], stay, move, leave, remain);
            rescale(&s);
        }
        for (; i < length; i++) next_residue(&s, ratio[code[i]], stay, move, leave, remain);
        scores[p] = (float)s.exponent * LN_2 + log(s.plain + s.composed) + null[row];
    }
}
