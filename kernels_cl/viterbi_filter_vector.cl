/* HMMER3's Viterbi filter, 16-bit scores, exact: the shape for CPUs.

   A work-item is a core, with SEQUENCES places (common/work_queue.h); what a row does is in
   common/viterbi_filter_striped.h. Only where E could add to B, or where deletes may go on from lane to lane, a row
   is looked at again.

   Buffers: those of forward_vector.cl, but
     moves      short[n_rows]   score from N, C or J on to the next state
     tables     of each model transitions, reach, emissions: see common/viterbi_filter_striped.h

   Macros
     LANES, VECTORS, FIXED, SEQUENCES, PLAIN   see common/viterbi_filter_striped.h
     SABOTAGE                                  1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take sequences from a counter. */

#include "common/models.h"
#include "common/viterbi_filter_striped.h"
#include "common/work_queue.h"

typedef struct {
    int move;
    int single_most; /* an E beyond this adds to B */
} special_t;

void open_row(special_t *special, word_row_t *row, int vectors, int move)
{
    special->move = move;
    special->single_most = SINGLE_MOST;
    row->begin = WORD_BASE + move;
    row->best = NOTHING;
    for (int q = 0; q < vectors; q++) row->x[q] = row->w[q] = NOTHING;
}

/* What seldom matters in a row: J, overflow, deletes that go from lane to lane. */
__attribute__((noinline))
void settle(place_t *place, special_t *special, word_row_t *row, int vectors, __global const words *transitions,
            __global const words *reach)
{
    const words adding = row->best > (words)((short)special->single_most);
    if (ANY(adding)) {
        const int e = highest_word(row->best);
        special->single_most = e;
        row->begin = begin_after(e, special->move);
        /* A place without a sequence has nothing to end. */
        if (e >= MAX_WORD && place->advance) place->left = 0;
    }
    deletes_across_words(row, vectors, transitions, reach);
}

/* Work on all sequences until one of them ends. */
__attribute__((always_inline))
void until_one_ends(place_t *place, special_t *special, word_row_t *row, int vectors, __global const words *transitions,
                    __global const words *reach, __global const words *emissions)
{
    __global const words *emission[SEQUENCES];
    __global const uchar *code[SEQUENCES];
    int most = INT_MAX, n_done = 0, ended = 0;
#pragma unroll
    for (int s = 0; s < SEQUENCES; s++) {
        code[s] = place[s].code;
        most = min(most, place[s].left);
    }
    for (; n_done < most && !ended; n_done++) {
        /* A place without a sequence reads the first residues of all. */
#pragma unroll
        for (int s = 0; s < SEQUENCES; s++) emission[s] = emissions + (uint)code[s][n_done] * vectors;
        next_word_rows(row, vectors, transitions, reach, emission);
#pragma unroll
        for (int s = 0; s < SEQUENCES; s++) {
            const words adding = row[s].best > (words)((short)special[s].single_most);
            const words matters = reaching(row + s, reach) | adding;
            if (!ANY(matters)) continue;
            settle(place + s, special + s, row + s, vectors, transitions, reach);
            ended |= place[s].left == 0;
        }
    }
    for (int s = 0; s < SEQUENCES; s++) {
        place[s].code += place[s].advance * n_done;
        place[s].left -= place[s].advance * n_done;
    }
}

__attribute__((always_inline))
void score_list(__global const uchar *codes, __global const int *offsets, __global const short *moves,
                __global const int *rows, uint n, int vectors, __global const words *transitions,
                __global const words *reach, __global const words *emissions, __global uint *next,
                __global float *scores)
{
    word_row_t row[SEQUENCES];
    place_t place[SEQUENCES];
    special_t special[SEQUENCES];
    int n_taken = 0;
    for (int s = 0; s < SEQUENCES; s++) {
        const int is_taken = take_next(place + s, codes, offsets, rows, n, next, scores);
        open_row(special + s, row + s, vectors, is_taken ? moves[place[s].row] : 0);
        n_taken += is_taken;
    }
    while (n_taken > 0) {
        until_one_ends(place, special, row, vectors, transitions, reach, emissions);
        for (int s = 0; s < SEQUENCES; s++) {
            if (place[s].left > 0) continue;
            scores[place[s].position] = word_score(highest_word(row[s].best), special[s].move);
            n_taken--;
            if (!take_next(place + s, codes, offsets, rows, n, next, scores)) continue;
            open_row(special + s, row + s, vectors, moves[place[s].row]);
            n_taken++;
        }
    }
}

__kernel void viterbi_filter(__global const uchar *codes, __global const int *offsets, __global const short *moves,
                             __global const int *lists, __global const uint *counts, const uint stride,
                             __global const model_t *models, const uint n_models, __global const uchar *tables,
                             __global uint *next, __global float *scores)
{
    for (uint m = 0; m < n_models; m++) {
        const model_t model = models[m];
        const uint first = model.number * stride;
        score_list(codes, offsets, moves, lists + first, counts[model.number], IN_ROW(model.parts),
                   TABLE_OF(words, tables, model, 0), TABLE_OF(words, tables, model, 1),
                   TABLE_OF(words, tables, model, 2), next + m, scores + first);
    }
}
