/* HMMER3's Forward score in single precision: the shape for CPUs.

   A work-item is a core, with SEQUENCES places (common/work_queue.h). The recurrence is that of
   clalign/reference/forward.py; the model is striped over explicit vectors.

   Node lane * vectors + q sits in lane `lane` of vector q. Kept from row to row, for node k
     x   what goes into M of node k + 1 but B's part, and without the deletes that entered the lane
     w   what I of node k is made of: I divided by what the step from M to I multiplies by
     entering   D at the start of each lane; what it adds to x of any node of the lane is a multiple of it
   M is kept multiplied by how much an M adds to E together with all the deletes that leave from it, so
   E is the sum over M.

   Buffers
     codes      uchar[n_residues]   letter codes, sequence after sequence
     offsets    int[n_rows + 1]     where each begins
     moves      float[n_rows]       probability of the step from N, C or J on to the next state
     lists      int[][stride]       by model, those to be scored
     counts     uint[]              how many there are
     models     model_t[n_models]   see common/models.h; parts: vectors in a row, at most VECTORS
     tables     of each model
       transitions    float[vectors][8][8]   begin, match to match, insert to match, insert to insert, delete
                                           to match, match to delete, delete to delete, entering to x
       delete_prefix  float[3][8]            what deletes are multiplied by that cross 1, 2, 4 lanes up to this one
       emissions      float[N_CODES][vectors][8]
     next       uint[n_models]      in: 0; the next place in the list to be taken
     scores     float[][stride]     out: nats, by model and place in its list; not a number without residues

   Macros
     VECTORS    vectors that there is room for
     SEQUENCES  sequences worked on at once, which share each load of a transition
     SABOTAGE   1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take sequences from a counter. */

#include "common/forward_specials.h"
#include "common/models.h"
#include "common/work_queue.h"

#define FLOAT_LANES 8
#define N_FORWARD_TRANSITIONS 8

#ifndef SABOTAGE
#define SABOTAGE 0
#endif
#ifndef VECTORS
#define VECTORS 16
#endif
#ifndef SEQUENCES
#define SEQUENCES 2
#endif

typedef float floats __attribute__((ext_vector_type(FLOAT_LANES)));

#define FLOATS_UP_1(v) __builtin_shufflevector(v, (floats)(0), 8, 0, 1, 2, 3, 4, 5, 6)
#define FLOATS_UP_2(v) __builtin_shufflevector(v, (floats)(0), 8, 8, 0, 1, 2, 3, 4, 5)
#define FLOATS_UP_4(v) __builtin_shufflevector(v, (floats)(0), 8, 8, 8, 8, 0, 1, 2, 3)

typedef struct {
    floats x[VECTORS], w[VECTORS];
    floats entering;
    float begin; /* B */
} forward_row_t;

float floats_total(floats v)
{
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
    v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
    return v[0] + v[1];
}

/* What enters each lane from all the lanes before it, given what leaves each lane. */
floats deletes_across(floats v, __global const floats *delete_prefix)
{
    v += FLOATS_UP_1(v) * delete_prefix[0];
    v += FLOATS_UP_2(v) * delete_prefix[1];
    v += FLOATS_UP_4(v) * delete_prefix[2];
    return FLOATS_UP_1(v);
}

/* One residue of each sequence; `e` gets E. */
__attribute__((always_inline))
void next_rows(forward_row_t *rows, int vectors, __global const floats *t, __global const floats *delete_prefix,
               __global const floats **emissions, float *e)
{
    floats left[SEQUENCES], d[SEQUENCES], sum[SEQUENCES], begin[SEQUENCES], entering[SEQUENCES];
    const floats last = t[(vectors - 1) * N_FORWARD_TRANSITIONS + 7];
#pragma unroll
    for (int s = 0; s < SEQUENCES; s++) {
        entering[s] = rows[s].entering;
        const floats x = rows[s].x[vectors - 1] + entering[s] * last;
        left[s] = FLOATS_UP_1(x);
        begin[s] = (floats)(rows[s].begin);
        d[s] = sum[s] = (floats)(0);
    }
    for (int q = 0; q < vectors; q++, t += N_FORWARD_TRANSITIONS) {
#pragma unroll
        for (int s = 0; s < SEQUENCES; s++) {
            forward_row_t *row = rows + s;
            const floats m = (begin[s] * t[0] + left[s]) * emissions[s][q], i = row->w[q];
            left[s] = entering[s] * t[7] + row->x[q];
            sum[s] += m;
            row->x[q] = m * t[SABOTAGE ? 2 : 1] + (i * t[2] + d[s] * t[4]);
            row->w[q] = i * t[3] + m;
            d[s] = d[s] * t[6] + m * t[5];
        }
    }
#pragma unroll
    for (int s = 0; s < SEQUENCES; s++) {
        rows[s].entering = deletes_across(d[s], delete_prefix);
        e[s] = floats_total(sum[s]);
    }
}

void open_row(forward_row_t *row, forward_specials_t *special, int vectors, float move)
{
    *special = forward_specials_at_start(move);
    row->begin = move;
    row->entering = (floats)(0);
    for (int q = 0; q < vectors; q++) row->x[q] = row->w[q] = (floats)(0);
}

__attribute__((noinline))
void rescale(forward_row_t *row, forward_specials_t *special, int vectors, float e)
{
    const float factor = scale_specials(special, e);
    row->begin *= factor;
    row->entering *= factor;
    for (int q = 0; q < vectors; q++) {
        row->x[q] *= factor;
        row->w[q] *= factor;
    }
}

__attribute__((always_inline))
void score_list(__global const uchar *codes, __global const int *offsets, __global const float *moves,
                __global const int *rows, uint n, int vectors, __global const floats *transitions,
                __global const floats *delete_prefix, __global const floats *emissions, __global uint *next,
                __global float *scores)
{
    forward_row_t row[SEQUENCES];
    place_t place[SEQUENCES];
    forward_specials_t special[SEQUENCES];
    __global const floats *emission[SEQUENCES];
    float e[SEQUENCES];
    int n_taken = 0;
    for (int s = 0; s < SEQUENCES; s++) {
        const int is_taken = take_next(place + s, codes, offsets, rows, n, next, scores);
        open_row(row + s, special + s, vectors, is_taken ? moves[place[s].row] : 0.0f);
        n_taken += is_taken;
    }
    while (n_taken > 0) {
        int ended = 0;
        while (!ended) {
#pragma unroll
            for (int s = 0; s < SEQUENCES; s++) emission[s] = emissions + next_code(place + s) * vectors;
            next_rows(row, vectors, transitions, delete_prefix, emission, e);
#pragma unroll
            for (int s = 0; s < SEQUENCES; s++) {
                row[s].begin = forward_specials_after(special + s, e[s]);
                if (e[s] > LARGEST_SUM) rescale(row + s, special + s, vectors, e[s]);
                ended |= place[s].left == 0;
            }
        }
        for (int s = 0; s < SEQUENCES; s++) {
            if (place[s].left > 0) continue;
            scores[place[s].position] = forward_score(special + s);
            n_taken--;
            if (!take_next(place + s, codes, offsets, rows, n, next, scores)) continue;
            open_row(row + s, special + s, vectors, moves[place[s].row]);
            n_taken++;
        }
    }
}

__kernel void forward(__global const uchar *codes, __global const int *offsets, __global const float *moves,
                      __global const int *lists, __global const uint *counts, const uint stride,
                      __global const model_t *models, const uint n_models, __global const uchar *tables,
                      __global uint *next, __global float *scores)
{
    for (uint m = 0; m < n_models; m++) {
        const model_t model = models[m];
        const uint first = model.number * stride;
        score_list(codes, offsets, moves, lists + first, counts[model.number], model.parts,
                   TABLE_OF(floats, tables, model, 0), TABLE_OF(floats, tables, model, 1),
                   TABLE_OF(floats, tables, model, 2), next + m, scores + first);
    }
}
