/* HMMER3's Forward score in single precision: the shape for CPUs.

   A work-item is a core, with SEQUENCES places (common/places.h); what a row does is in
   common/striped_forward.h, the recurrence in clalign/reference/forward.py.

   Buffers
     codes      uchar[n_residues]   letter codes, sequence after sequence
     offsets    int[n_rows + 1]     where each begins
     moves      float[n_rows]       probability of the step from N, C or J on to the next state
     rows       int[n]              those to be scored
     n          uint[1]
     steps, crossings, emissions    see common/striped_forward.h
     next       uint[1]             in: 0; the next place in `rows` to be taken
     scores     float[n]            out: nats; not a number without residues

   Scalars: vectors   in a row, at most VECTORS

   Macros
     VECTORS, SEQUENCES   see common/striped_forward.h
     SABOTAGE             1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take sequences from a counter. */

#include "common/striped_forward.h"
#include "common/forward_specials.h"
#include "common/places.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

void open_row(row_t *row, specials_t *special, int vectors, float move)
{
    *special = specials_at_start(move);
    row->begin = move;
    row->entering = (floats)(0);
    for (int q = 0; q < vectors; q++) row->x[q] = row->w[q] = (floats)(0);
}

__attribute__((noinline))
void rescale(row_t *row, specials_t *special, int vectors, float e)
{
    const float factor = scale_specials(special, e);
    row->begin *= factor;
    row->entering *= factor;
    for (int q = 0; q < vectors; q++) {
        row->x[q] *= factor;
        row->w[q] *= factor;
    }
}

__kernel void forward(__global const uchar *codes, __global const int *offsets, __global const float *moves,
                      __global const int *rows, __global const uint *n, const int vectors,
                      __global const floats *steps, __global const floats *crossings,
                      __global const floats *emissions, __global uint *next, __global float *scores)
{
    row_t row[SEQUENCES];
    place_t place[SEQUENCES];
    specials_t special[SEQUENCES];
    __global const floats *emission[SEQUENCES];
    float e[SEQUENCES];
    int n_taken = 0;
    for (int s = 0; s < SEQUENCES; s++) {
        const int is_taken = take(place + s, codes, offsets, rows, *n, next, scores);
        open_row(row + s, special + s, vectors, is_taken ? moves[place[s].row] : 0.0f);
        n_taken += is_taken;
    }
    while (n_taken > 0) {
        int ended = 0;
        while (!ended) {
#pragma unroll
            for (int s = 0; s < SEQUENCES; s++) emission[s] = emissions + next_code(place + s) * vectors;
            next_rows(row, vectors, steps, crossings, emission, e);
#pragma unroll
            for (int s = 0; s < SEQUENCES; s++) {
                row[s].begin = specials_after(special + s, e[s]);
                if (e[s] > LARGEST_SUM) rescale(row + s, special + s, vectors, e[s]);
                ended |= place[s].left == 0;
            }
        }
        for (int s = 0; s < SEQUENCES; s++) {
            if (place[s].left > 0) continue;
            scores[place[s].position] = forward_score(special + s) + SABOTAGE;
            n_taken--;
            if (!take(place + s, codes, offsets, rows, *n, next, scores)) continue;
            open_row(row + s, special + s, vectors, moves[place[s].row]);
            n_taken++;
        }
    }
}
