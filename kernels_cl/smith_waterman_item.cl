/* Smith-Waterman scores of a query and many targets, for GPUs: a work-item takes two targets at once.

   It holds a strip of ROWS residues of the query in registers, as pairs of 16-bit numbers, and goes through
   the targets' residues; then through them again with the next strip: what crosses the edge goes through
   memory. The letters of both targets make one index into a table of biased scores in local memory.

   Buffers
     codes     uchar[n_residues]              letter codes, sequence after sequence
     classes   uchar[N_CODES]                 class of each letter; UNSCORED: targets with it are for another kernel
     offsets   int[n_rows + 1]                where each sequence begins
     rows      int[n]                         the targets that are scored here, falling by length
     bases     uint[ceil(n / 64)]             where each 32 pairs begin in `words`
     words     ushort4[n_words]               indices of pairs of classes, four residues a word; 32 pairs are
                                              interleaved
     again     int[]                          rows that are for another kernel
     n_again   uint[1]                        in: 0; how many they are
     biased_scores   char[n_strips * ROWS][CLASSES + 1]   of each class; the last one is for the end of the shorter of
                     two
     table     uint[n_strips][N_PAIRS][HALF]  see common/pair_strips.h
     edges     uint2[n_groups][depth][GROUP]  scratch: score and gap at the lower edge of the last strip
     next      int[1]                         in: 0; the next pairs to be taken, by the group
     scores    int[n_rows]                    out

   Macros
     ROWS      query residues a strip, even
     CLASSES   letters with scores of their own
     ONE_STRIP 1 if that is the whole query: then nothing touches `edges`
     GROUP, STRIDE   see common/pair_strips.h
     PRODUCTS  see common/pairs.h
     MODE      0 local, 3 ungapped
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: any number of groups. Local memory: N_PAIRS * STRIDE * 16 + 4 bytes. */

#ifndef ROWS
#define ROWS 24
#endif
#ifndef CLASSES
#define CLASSES 21
#endif
#ifndef ONE_STRIP
#define ONE_STRIP 0
#endif

#define STRIP_WIDTH ROWS
#define PAIR_LETTERS (CLASSES + 1)
#define N_PAIRS (CLASSES * (CLASSES + 1) + 1) /* the shorter of two ends first, or with the other */

#include "common/affine_pairs.h"
#include "common/pair_strips.h"

__kernel void lay_out(__global const uchar *codes, __constant const uchar *classes, __global const int *offsets,
                      __global const int *rows, const uint n, __global const uint *bases, __global ushort4 *words,
                      __global int *again, __global uint *n_again)
{
    const uint pair = get_global_id(0);
    if (2 * pair >= n) return;
    const int row = rows[2 * pair], second = rows[min(2 * pair + 1, n - 1)];
    const int length = offsets[row + 1] - offsets[row];
    const int other = 2 * pair + 1 < n ? offsets[second + 1] - offsets[second] : 0;
    const int found = lay_out_pair(codes + offsets[row], length, codes + offsets[second], other, classes,
                                   words + bases[pair / 32] + pair % 32);
    if (found & 1) again[atomic_inc(n_again)] = row;
    if (found & 2) again[atomic_inc(n_again)] = second;
}

__kernel void pair_table(__global const char *biased_scores, const uint n_words, __global uint *table)
{
    const uint k = get_global_id(0);
    if (k < n_words) table[k] = table_word(biased_scores, k);
}

typedef struct {
    pair_t score[ROWS], e[ROWS];
    pair_t best;
} query_strip_t;

/* Take both targets' next residues through the strip. `corner` is the score above the one before, `f` the
   gap that comes from above, which is carried on to below. Returns the score at the lower edge. */
pair_t next_column(query_strip_t *s, pair_t corner, pair_t *f, __local const uint4 *scores, const costs_t *costs)
{
    uint words[HALF_FOURS * 4];
    read_words(words, scores);
#pragma unroll
    for (int k = 0; k < HALF; k++) {
        const pair_t above = affine_pair(ADD_LOW_BYTES(corner, words[k]), &s->e[2 * k], f, costs);
        const pair_t below = affine_pair(ADD_HIGH_BYTES(s->score[2 * k], words[k]), &s->e[2 * k + 1], f, costs);
        corner = s->score[2 * k + 1];
        s->score[2 * k] = above;
        s->score[2 * k + 1] = below;
        s->best = HIGHEST_PAIR(s->best, above, below);
    }
    return s->score[ROWS - 1];
}

void take_pair(query_strip_t *s, __local const uint4 *table, __global const ushort4 *word, int length,
               __global uint2 *edge, int is_first, int is_last, const costs_t *costs)
{
    const uint2 top = (uint2)(costs->floor, costs->floor);
    pair_t corner = costs->floor;
#pragma unroll 1
    for (int i = 0; i < length; i += 4, word += 32, edge += 4 * GROUP) {
        const ushort4 four = *word;
        const ushort pairs[4] = {four.x, four.y, four.z, four.w};
        uint2 ahead[4];
#pragma unroll
        for (int r = 0; r < 4; r++) ahead[r] = ONE_STRIP || is_first ? top : edge[r * GROUP];
#pragma unroll
        for (int r = 0; r < 4; r++) {
            pair_t f = ahead[r].y;
            const pair_t lower = next_column(s, corner, &f, table + (uint)pairs[r] * STRIDE, costs);
            corner = ahead[r].x;
            if (!ONE_STRIP && !is_last) edge[r * GROUP] = (uint2)(lower, f);
        }
    }
}

/* Write a score, or list its row if 16 bits may not have been enough. */
void finish(int score, int most, int row, __global int *scores, __global int *again, __global uint *n_again)
{
    scores[row] = score;
    if (score >= most) again[atomic_inc(n_again)] = row;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void smith_waterman(__global const ushort4 *words, __global const uint *bases, __global const int *offsets,
                    __global const int *rows, const uint n, __global const uint *table, const uint n_strips,
                    const int bias, const int first, const int next_one, const int most, __global uint2 *edges,
                    const uint depth, __global int *next, __global int *scores, __global int *again,
                    __global uint *n_again)
{
    __local uint4 local_table[N_PAIRS * STRIDE];
    __local uint taken;
    const uint item = get_local_id(0);
    const costs_t costs = costs_of(bias, first, next_one);
    __global uint2 *edge = edges + (size_t)get_group_id(0) * depth * GROUP + item;
    for (;;) {
        const uint base = next_pairs(next, &taken, item);
        if (2 * base >= n) break;
        const uint pair = base + item, row = rows[min(2 * pair, n - 1)];
        const int length = 2 * pair < n ? offsets[row + 1] - offsets[row] : 0;
        __global const ushort4 *word = words + bases[2 * pair < n ? pair / 32 : 0] + pair % 32;
        query_strip_t s;
        s.best = costs.floor;
        for (uint strip = 0; strip < n_strips; strip++) {
            load_strip(local_table, table, strip, item);
#pragma unroll
            for (int k = 0; k < ROWS; k++) s.score[k] = s.e[k] = costs.floor;
            take_pair(&s, local_table, word, length, edge, strip == 0, strip + 1 == n_strips, &costs);
        }
        if (length > 0) finish(FIRST_OF(s.best) - bias, most, row, scores, again, n_again);
        if (2 * pair + 1 < n) finish(SECOND_OF(s.best) - bias, most, rows[2 * pair + 1], scores, again, n_again);
    }
}
