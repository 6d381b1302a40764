/* Smith-Waterman scores of a query and many targets, for GPUs: a work-item takes two targets at once.

   It holds a strip of ROWS residues of the query in registers, as pairs of 16-bit numbers, and goes through
   the targets' residues; then through them again with the next strip: what crosses the edge goes through
   memory. The letters of both targets make one index into a table of gains in local memory.

   Buffers
     codes     uchar[n_residues]              letter codes, sequence after sequence
     classes   uchar[N_CODES]                 class of each letter; UNSCORED: targets with it are for another kernel
     offsets   int[n_rows + 1]                where each sequence begins
     rows      int[n]                         the targets that are scored here, falling by length
     bases     uint[ceil(n / 64)]             where each 32 pairs begin in `words`
     words     ushort4[n_words]               indices of pairs of classes, four residues a word; 32 pairs are interleaved
     again     int[]                          rows that are for another kernel
     n_again   uint[1]                        in: 0; how many they are
     gains     char[n_strips * ROWS][CLASSES + 1]   gain of each class; the last one is for the end of the shorter of two
     table     uint[n_strips][PAIRS][HALF]    gains of two rows a word: at the one row of both targets, at the other
     edges     uint2[n_groups][depth][GROUP]  scratch: score and gap at the lower edge of the last strip
     next      int[1]                         in: 0; the next pairs to be taken, by the group
     scores    int[n_rows]                    out

   Macros
     ROWS      query residues a strip, even
     CLASSES   letters with gains of their own
     ONE_STRIP 1 if that is the whole query: then nothing touches `edges`
     GROUP     work-items a work-group, a multiple of 32
     STRIDE    16-byte units from pair to pair of the table in local memory; odd, or banks collide
     PRODUCTS  see common/gains.h
     UNGAPPED  see common/affine_pairs.h
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: any number of groups. Local memory: PAIRS * STRIDE * 16 + 4 bytes. */

#ifndef ROWS
#define ROWS 24
#endif
#ifndef CLASSES
#define CLASSES 21
#endif
#ifndef ONE_STRIP
#define ONE_STRIP 0
#endif
#ifndef GROUP
#define GROUP 64
#endif
#ifndef STRIDE
#define STRIDE (((ROWS / 2 + 3) / 4) | 1)
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#define HALF (ROWS / 2)
#define UNSCORED 255
#define PAIRS (CLASSES * (CLASSES + 1) + 1)
#define NO_PAIR (PAIRS - 1)

#include "common/pairs.h"
#include "common/affine_pairs.h"
#include "common/gains.h"

__kernel void lay_out(__global const uchar *codes, __constant const uchar *classes, __global const int *offsets,
                      __global const int *rows, const uint n, __global const uint *bases, __global ushort4 *words,
                      __global int *again, __global uint *n_again)
{
    const uint pair = get_global_id(0);
    if (2 * pair >= n) return;
    const int row = rows[2 * pair], second = rows[min(2 * pair + 1, n - 1)];
    const int length = offsets[row + 1] - offsets[row];
    const int other = 2 * pair + 1 < n ? offsets[second + 1] - offsets[second] : 0;
    __global const uchar *a = codes + offsets[row], *b = codes + offsets[second];
    __global ushort4 *word = words + bases[pair / 32] + pair % 32;
    int odd = 0;
    for (int i = 0; i < length; i += 4, word += 32) {
        ushort four[4];
        for (int k = 0; k < 4; k++) {
            uint x = i + k < length ? classes[a[i + k]] : CLASSES;
            uint y = i + k < other ? classes[b[i + k]] : CLASSES;
            odd |= (x == UNSCORED) | (y == UNSCORED) << 1;
            x = x == UNSCORED ? 0 : x; /* whatever: this target is scored elsewhere, but its neighbor here */
            y = y == UNSCORED ? 0 : y;
            four[k] = x >= CLASSES ? NO_PAIR : (ushort)(x * (CLASSES + 1) + y);
        }
        *word = (ushort4)(four[0], four[1], four[2], four[3]);
    }
    if (odd & 1) again[atomic_inc(n_again)] = row;
    if (odd & 2) again[atomic_inc(n_again)] = second;
}

__kernel void pair_gains(__global const char *gains, const uint n_words, __global uint *table)
{
    const uint k = get_global_id(0);
    if (k >= n_words) return;
    const uint row = k / (PAIRS * HALF) * ROWS + k % HALF * 2, pair = k / HALF % PAIRS;
    const uint x = min(pair / (CLASSES + 1), (uint)CLASSES), y = pair == NO_PAIR ? CLASSES : pair % (CLASSES + 1);
    uint word = 0;
    for (uint r = 0; r < 2; r++) {
        __global const char *gain = gains + (row + r) * (CLASSES + 1);
        word |= ((uint)gain[x] & 0xffu | ((uint)SECOND_GAIN(gain[y]) & 0xffu) << 8) << (16 * r);
    }
    table[k] = word;
}

typedef struct {
    pair_t score[ROWS], across[ROWS];
    pair_t best;
} strip_t;

/* Take both targets' next residues through the strip. `corner` is the score above the one before, `down` the
   gap that comes from above, which is carried on to below. Returns the score at the lower edge. */
pair_t next_column(strip_t *s, pair_t corner, pair_t *down, __local const uint4 *gains, const costs_t *costs)
{
    uint words[(HALF + 3) / 4 * 4];
#pragma unroll
    for (int k = 0; k < (HALF + 3) / 4; k++) {
        const uint4 four = gains[k];
        words[4 * k] = four.x, words[4 * k + 1] = four.y, words[4 * k + 2] = four.z, words[4 * k + 3] = four.w;
    }
#pragma unroll
    for (int k = 0; k < HALF; k++) {
        const pair_t above = next_cell(add_low(corner, words[k]), &s->across[2 * k], down, costs);
        const pair_t below = next_cell(add_high(s->score[2 * k], words[k]), &s->across[2 * k + 1], down, costs);
        corner = s->score[2 * k + 1];
        s->score[2 * k] = above;
        s->score[2 * k + 1] = below;
        s->best = HIGHEST_PAIR(s->best, above, below);
    }
    return s->score[ROWS - 1];
}

void take_pair(strip_t *s, __local const uint4 *table, __global const ushort4 *word, int length,
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
            pair_t down = ahead[r].y;
            const pair_t lower = next_column(s, corner, &down, table + (uint)pairs[r] * STRIDE, costs);
            corner = ahead[r].x;
            if (!ONE_STRIP && !is_last) edge[r * GROUP] = (uint2)(lower, down);
        }
    }
}

/* Write a score, or list its row if 16 bits may not have been enough. */
void finish(int score, int most, int row, __global int *scores, __global int *again, __global uint *n_again)
{
    scores[row] = score + SABOTAGE;
    if (score >= most) again[atomic_inc(n_again)] = row;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void smith_waterman(__global const ushort4 *words, __global const uint *bases, __global const int *offsets,
                    __global const int *rows, const uint n, __global const uint *table, const uint n_strips,
                    const int bias, const int first, const int next_one, const int most, __global uint2 *edges,
                    const uint depth, __global int *next, __global int *scores, __global int *again,
                    __global uint *n_again)
{
    __local uint4 gains[PAIRS * STRIDE];
    __local uint taken;
    const uint item = get_local_id(0);
    const costs_t costs = costs_of(bias, first, next_one);
    __global uint2 *edge = edges + (size_t)get_group_id(0) * depth * GROUP + item;
    for (;;) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item == 0) taken = (uint)atomic_inc(next) * GROUP;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (2 * taken >= n) break;
        const uint pair = taken + item, row = rows[min(2 * pair, n - 1)];
        const int length = 2 * pair < n ? offsets[row + 1] - offsets[row] : 0;
        __global const ushort4 *word = words + bases[2 * pair < n ? pair / 32 : 0] + pair % 32;
        strip_t s;
        s.best = costs.floor;
        for (uint strip = 0; strip < n_strips; strip++) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint k = item; k < PAIRS * HALF; k += GROUP)
                ((__local uint *)gains)[k / HALF * STRIDE * 4 + k % HALF] = table[strip * PAIRS * HALF + k];
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
            for (int k = 0; k < ROWS; k++) s.score[k] = s.across[k] = costs.floor;
            take_pair(&s, gains, word, length, edge, strip == 0, strip + 1 == n_strips, &costs);
        }
        if (length > 0) finish(FIRST_OF(s.best) - bias, most, row, scores, again, n_again);
        if (2 * pair + 1 < n) finish(SECOND_OF(s.best) - bias, most, rows[2 * pair + 1], scores, again, n_again);
    }
}
