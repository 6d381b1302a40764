/* HMMER3's bias filter: Forward of two states that emit the background and the model's composition.

   A work-item takes one sequence after the other. Sums are scaled by powers of two after every BLOCK
   residues, which costs no accuracy; the recurrence is that of clalign/reference/bias_filter.py.

   Buffers
     codes      uchar[n_residues]   letter codes, sequence after sequence
     offsets    int[n_rows + 1]     where each begins
     null_loop, null   float[n_rows]   of the null model: its transition, its score in nats
     lists      int[][stride]       by model, those to be scored
     counts     uint[]              how many there are
     models     model_t[n_models]   see common/models.h; numbers: float, from the composition to the background, and on
     tables     of each model float[N_CODES]   how much likelier each letter is in the composition
     next       uint[n_models]      in: 0; the next place in the list to be taken
     scores     float[][stride]     out: nats, by model and place in its list; not a number without residues

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
#include "common/models.h"

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

float score_of(__global const uchar *code, int length, __local const float *ratio, float stay, float leave, float remain)
{
    const float move = 1.0f - stay;
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
    return (float)s.exponent * LN_2 + log(s.plain + s.composed);
}

__kernel void bias_filter(__global const uchar *codes, __global const int *offsets, __global const float *null_loop,
                          __global const float *null, __global const int *lists, __global const uint *counts,
                          const uint stride, __global const model_t *models, const uint n_models,
                          __global const uchar *tables, __global uint *next, __global float *scores)
{
    __local float ratio[N_CODES];
    __local int is_open;
    const uint begin = (uint)get_group_id(0) * n_models / (uint)get_num_groups(0); /* or all would meet at each counter */
    for (uint k = 0; k < n_models; k++) {
        const uint m = (begin + k) % n_models;
        const model_t model = models[m];
        __global const float *ratios = TABLE_OF(float, tables, model, 0);
        for (uint c = get_local_id(0); c < N_CODES; c += get_local_size(0)) ratio[c] = ratios[c];
        if (get_local_id(0) == 0) is_open = atomic_add(next + m, 0) < counts[model.number];
        barrier(CLK_LOCAL_MEM_FENCE);
        const float leave = as_float(model.numbers[0]), remain = as_float(model.numbers[1]);
        const uint first = model.number * stride, n = counts[model.number];
        for (uint p = is_open ? atomic_inc(next + m) : n; p < n; p = atomic_inc(next + m)) {
            const int row = lists[first + p], length = offsets[row + 1] - offsets[row];
            scores[first + p] = length == 0 ? NAN : score_of(codes + offsets[row], length, ratio, null_loop[row],
                                                             leave, remain) + null[row];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
