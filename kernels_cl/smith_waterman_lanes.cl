/* Smith-Waterman scores of a query and listed targets, for GPUs: lanes that share targets, of any length.

   Each of LANES work-items holds ROWS consecutive residues of the query, and is a residue of the target
   behind its neighbor above, so that only what crosses the edge between the two has to pass, by a shuffle.
   Queries longer than LANES * ROWS take several strips; what crosses their edge goes through memory.

   WIDE 0: two targets at once, 16 bits (common/affine_pairs.h); those that may have overflowed are listed.
   WIDE 1: one target, 32 bits, all modes: nothing overflows.

   Buffers
     codes     uchar[n_residues]     letter codes, sequence after sequence
     offsets   int[n_rows + 1]       where each begins
     rows      int[n]                those to be scored; neighbors of like length
     n         uint[1]
     next      uint[1]               in: 0; the next place in `rows` that is taken
     biased_scores   uint4[n_strips][AT_ONCE][N_CODES][ROW_FOURS][LANES]   of sixteen rows, by letter of the target;
                               of those targets that are the second of two as common/pairs.h has them
     edges     uint2[n_groups of lanes][depth]              scratch: score and gap at the lower edge of the last strip
     scores    int[n_rows]           out
     again     int[], n_again uint[1]     rows that may need more than 16 bits (WIDE 0)

   Macros
     LANES, LANE_BACKEND   see common/lanes.h
     ROWS      query residues a lane, a multiple of 4
     GROUP     work-items a work-group, a multiple of LANES and of the sub-group (LANES itself with LANE_BACKEND 0)
     WIDE      see above
     MODE      0 local, 1 global, 2 semiglobal, 3 ungapped; 1 and 2 only with WIDE
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: any number of work-groups of GROUP; groups of lanes take targets from a counter.
   Local memory: 16 * N_SCORES + 4 * LANES + 4 bytes. */

#include "common/affine_rows.h"
#include "common/codes.h"
#include "common/lanes.h"

#ifndef GROUP
#define GROUP LANES
#endif

#define LETTER_WORDS (N_CODES * ROW_FOURS * LANES)
#define N_WORDS (AT_ONCE * LETTER_WORDS)

/* A target as a group of lanes takes it; beyond its ends there is NO_CODE. */
typedef struct {
    __global const uchar *code;
    int length, row; /* row -1 if there is none */
} target_t;

target_t target_at(uint place, uint n, __global const uchar *codes, __global const int *offsets,
                   __global const int *rows)
{
    target_t t = {codes, 0, -1};
    if (place < n) {
        t.row = rows[place];
        t.code = codes + offsets[t.row];
        t.length = offsets[t.row + 1] - offsets[t.row];
    }
    return t;
}

uint code_at(const target_t *t, int i)
{
    return (uint)i < (uint)t->length ? t->code[i] : NO_CODE;
}

/* The biased scores of a lane's rows with a letter. */
void read_biased_scores(uint *words, __local const uint4 *table, uint code)
{
#pragma unroll
    for (int k = 0; k < ROW_FOURS; k++) {
        const uint4 four = table[(code * ROW_FOURS + k) * LANES];
        words[4 * k] = four.x, words[4 * k + 1] = four.y, words[4 * k + 2] = four.z, words[4 * k + 3] = four.w;
    }
}

/* Take the targets through one strip; `edge` has what comes from above, and gets what goes on below. */
void take_strip(rows_t *s, const target_t *targets, __local const uint4 *table, __global uint2 *edge, uint2 lower,
                int is_first, int is_last, int n_steps, const row_costs_t *c, uint lane, __local int *scratch)
{
    int j = -(int)lane;
    uint code[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) code[k] = code_at(&targets[k], j);
    const int longest = max(targets[0].length, targets[AT_ONCE - 1].length);
#pragma unroll 1
    for (int step = 0; step < n_steps; step++, j++) {
        uint words[AT_ONCE][ROW_WORDS];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            read_biased_scores(words[k], table + k * LETTER_WORDS, code[k]);
            code[k] = code_at(&targets[k], j + 1);
        }
        uint2 upper = row_border(c, step);
        if (!is_first && lane == 0 && step < longest) upper = edge[step];
        upper.x = (uint)shuffle_up((int)lower.x, 1, (int)upper.x, lane, scratch);
        upper.y = (uint)shuffle_up((int)lower.y, 1, (int)upper.y, lane, scratch);
        /* In 16 bits nothing happens where there is no residue, and a branch costs more. */
        if (!WIDE || (uint)j < (uint)longest) lower = next_rows_column(s, words, upper, j + 1 == longest, c);
        if (!is_last && lane == LANES - 1 && (uint)j < (uint)longest) edge[j] = lower;
    }
}

/* Places in `rows` that a work-group takes together. */
#define PER_TURN (GROUP / LANES * AT_ONCE)

/* Without shuffles every group takes its share in turn: a CPU driver lost itself in loops whose end another item
   decides. */
#if LANE_BACKEND == 0
#define EACH_TURN(base) \
    for (uint base = get_group_id(0) * PER_TURN; base < count; base += get_num_groups(0) * PER_TURN)
#else
uint next_turn(__global uint *next, __local uint *taken)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) *taken = atomic_add(next, (uint)PER_TURN);
    barrier(CLK_LOCAL_MEM_FENCE);
    return *taken;
}
#define EACH_TURN(base) for (uint base = next_turn(next, &taken); base < count; base = next_turn(next, &taken))
#endif

__kernel LANE_ATTRIBUTES __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void smith_waterman(__global const uchar *codes, __global const int *offsets, __global const int *rows,
                    __global const uint *n, __global uint *next, __global const uint4 *biased_scores,
                    const int n_strips,
                    const int query_length, const int bias, const int first, const int next_one, const int most,
                    __global uint2 *edges, const uint depth, __global int *scores, __global int *again,
                    __global uint *n_again)
{
    __local int scratch[LANES];
    __local uint4 table[N_WORDS];
    __local uint taken;
    const uint item = get_local_id(0), lane = item % LANES, count = *n;
    const row_costs_t costs = row_costs_of(bias, first, next_one);
    __global uint2 *edge = edges + get_global_id(0) / LANES * (size_t)depth;
    EACH_TURN(base) {
        target_t targets[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            targets[k] = target_at(base + item / LANES * AT_ONCE + k, count, codes, offsets, rows);
        const int n_columns = max(targets[0].length, targets[AT_ONCE - 1].length);
        const int n_steps = -subgroup_min(-n_columns) + LANES - 1;
        rows_t s;
        open_best(&s, &costs);
        for (int strip = 0; strip < n_strips; strip++) {
            /* The edge of the strip before has been written, and its table read. */
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            for (uint k = item; k < N_WORDS; k += GROUP) table[k] = biased_scores[strip * N_WORDS + k];
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint2 lower = open_rows(&s, &costs, (strip * LANES + (int)lane) * ROWS, query_length);
            take_strip(&s, targets, table + lane, edge, lower, strip == 0, strip + 1 == n_strips, n_steps, &costs,
                       lane, scratch);
        }
        for (int k = 0; k < AT_ONCE; k++) {
            const int best = lane_max(best_of(&s, k, bias), lane, scratch);
            if (lane > 0 || targets[k].row < 0) continue;
            scores[targets[k].row] = best;
            if (!WIDE && best >= most) again[atomic_inc(n_again)] = targets[k].row;
        }
    }
}
