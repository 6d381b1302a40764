/* The best score of a query and each of many sequences, for CPUs.

   A work-item is a core. Every lane of its vectors holds a sequence of its own and takes the next one when it
   has ended; the longest come first. A pass takes the next COLUMNS residues of all lanes down the query. What
   the columns leave behind for the next pass, H and E of each residue of the query, goes to memory once a pass
   and not once a column; F, down the columns, stays in registers.

   Few bits are tried first; sequences whose scores may not fit are listed, to be scored with more.

   A finished lane waits: clearing its place in the memory of the query takes a good part of a pass, so this is
   done for several lanes at once.

   Buffers
     codes    uchar[n_residues]                   letter codes, sequence after sequence
     offsets  int[n + 1]                          where each begins
     rows     int[n_rows]                         the sequences to be scored, none of them empty
     n_rows   uint[1]
     query    uchar[length]                       the letters of the query, numbered from 0
     tables   char[n_letters][32]                 what each letter code scores against them
     limit    the highest score that WIDTH bits hold for sure
     memory   scores_t[work-items][length][2]     H and E of the last column
     next     uint[1]                             in: 0; the place in `rows` of the next to be taken
     scores   int[n]                              out
     again    int[n_rows], n_again uint[1]        out: sequences whose scores are above `limit`; in: 0 of them

   Macros
     MODE      0 local, 1 global, 2 semiglobal, 3 ungapped
     WIDTH     8, 16 or 32: bits of a score; all scores between begin and end must fit if MODE is 1 or 2
     LANES     sequences at once: two vectors of the processor hide the latency of each other
     COLUMNS   residues of each lane a pass
     MASKS     see common/saturated.h
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1. */

#ifndef COLUMNS
#define COLUMNS 2
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#include "common/alignment_modes.h"
#include "common/letter_scores.h"
#include "common/saturated.h"
#include "common/target_lanes.h"

/* Vectors of scores, and their steps with affine gap costs.

   E and F are kept with the cost of the first residue of a gap added, so that both are just what H was, less the
   costs of the residues after the first; what opens and what goes on is then one maximum each.

     H = max(diagonal H + score, max(E, F) - first), and 0 if alignments begin anywhere
     E = max(E - next, H) of the column before, F likewise of the row before

   Where alignments begin anywhere, no H is below 0, and only one step has to see to that: the unsigned
   difference that ends at 0. All others are plain. A sum may be wrong only if H was above HIGHEST less the
   highest score of two letters, so whoever finds such an H computes the sequence again with more bits. */

#if WIDTH == 8
typedef uchar unsigned_score_t;
#elif WIDTH == 16
typedef ushort unsigned_score_t;
#else
typedef uint unsigned_score_t;
#endif

typedef unsigned_score_t unsigned_scores_t __attribute__((ext_vector_type(LANES)));

/* Less the cost of opening a gap, and not below 0 if alignments begin anywhere. Compilers know this way of writing a
   difference that ends at 0 and make one instruction of it. */
__attribute__((always_inline))
scores_t less_first(const scores_t score, const scores_t first)
{
#if IS_LOCAL
    const unsigned_scores_t a = __builtin_astype(score, unsigned_scores_t);
    const unsigned_scores_t b = __builtin_astype(first, unsigned_scores_t);
    return __builtin_astype(LARGER(a, b) - b, scores_t);
#else
    return score - first;
#endif
}

/* What `best` begins with. */
#define WORST (IS_LOCAL ? 0 : LOWEST)

/* Lanes wait so many passes in all until they get new sequences. */
#define PATIENCE (LANES / 2)

typedef struct {
    scores_t first, next; /* costs of a gap */
    scores_t corner;      /* H above the column before the next one */
    scores_t border;      /* H above the next one */
    scores_t best;
} lanes_state_t;

/* Which lanes end in this pass: the mask of those whose last column is c, and of those that have one there. */
typedef struct {
    scores_t is_last[COLUMNS], is_inside[COLUMNS];
} ends_t;

void find_ends(ends_t *ends, const lanes_t *lanes)
{
#if !IS_LOCAL
    const int *left = (const int *)&lanes->left;
    for (int c = 0; c < COLUMNS; c++) {
        for (int lane = 0; lane < LANES; lane++) {
            ((score_t *)&ends->is_last[c])[lane] = left[lane] == c + 1 ? -1 : 0;
            ((score_t *)&ends->is_inside[c])[lane] = left[lane] > c ? -1 : 0;
        }
    }
#endif
}

/* Clear what new lanes have in the memory of the query, and their part of the state. */
void begin_sequences(lanes_state_t *s, const scores_t is_new, __global scores_t *memory, const int length,
                     const int first, const int next)
{
    for (int i = 0; i < length; i++, memory += 2) {
        const scores_t start = (scores_t)((score_t)(MODE == GLOBAL ? -first - i * next : 0));
        memory[0] = is_new ? start : memory[0];
        memory[1] = is_new ? start : memory[1];
    }
    s->corner = is_new ? (scores_t)(0) : s->corner;
    s->border = is_new ? (scores_t)((score_t)(MODE == GLOBAL ? -first : 0)) : s->border;
    s->best = is_new ? (scores_t)(WORST) : s->best;
}

/* H, E and F of one cell, and the best of a local alignment: E and F hold what H was in the column before and in
   the row before, so it need only be looked at in every other column, from the last one on. */
__attribute__((always_inline))
scores_t next_cell(const scores_t sum, scores_t *e, scores_t *f, scores_t *best, const int is_looked_at,
                   const lanes_state_t *s)
{
#if MODE == UNGAPPED
    const scores_t h = LARGER(sum, (scores_t)(0));
    *best = LARGER(*best, h);
#else
    const scores_t gap = LARGER(*e, *f);
    if (MODE == LOCAL && is_looked_at) *best = larger_by_mask(*best, gap);
    const scores_t after_gap = less_first(gap, s->first);
    const scores_t h = LARGER(sum, after_gap), wider = *e - s->next, deeper = *f - s->next;
    *e = LARGER(wider, h);
    *f = LARGER(deeper, h);
#endif
    return h;
}

/* Take the next columns of all lanes down the query. */
__attribute__((always_inline))
void next_columns(lanes_state_t *s, __global scores_t *memory, __global const uchar *query, const int length,
                  const scores_t *scores, const ends_t *ends)
{
    scores_t best = s->best, h[COLUMNS + 1], f[COLUMNS];
    h[0] = s->corner;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        h[c + 1] = f[c] = s->border;
        if (MODE == GLOBAL) s->border -= s->next;
    }
    s->corner = h[COLUMNS];
    for (int i = 0; i < length; i++, memory += 2) {
        const scores_t *score = scores + (uint)query[i] * COLUMNS;
        scores_t sum[COLUMNS], e = memory[1];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) sum[c] = h[c] + score[c];
        h[0] = memory[0];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            h[c + 1] = next_cell(sum[c], &e, f + c, &best, (COLUMNS - 1 - c) % 2 == 0, s);
#if MODE == SEMIGLOBAL
            const scores_t higher = LARGER(best, h[c + 1]);
            if (ends) best = ends->is_last[c] ? higher : best;
#endif
        }
        memory[0] = h[COLUMNS];
        memory[1] = e;
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
#if MODE == GLOBAL
        if (ends) best = ends->is_last[c] ? h[c + 1] : best;
#elif MODE == SEMIGLOBAL
        const scores_t higher = LARGER(best, h[c + 1]);
        if (ends) best = ends->is_inside[c] ? higher : best;
        else best = higher;
#elif MODE == LOCAL
        best = LARGER(best, f[c]);
#endif
    }
    s->best = best;
}

/* Write the scores of the lanes that have ended, and let their sequences go. */
void finish(lanes_t *lanes, const lanes_state_t *s, __global int *scores, __global int *again, __global uint *n_again,
            const int limit)
{
    for (int lane = 0; lane < LANES; lane++) {
        if (((const int *)&lanes->left)[lane] > 0) continue;
        const int row = lanes->row[lane], best = ((const score_t *)&s->best)[lane];
        if (best > limit) again[atomic_inc(n_again)] = row;
        else scores[row] = best;
        let_go(lanes, lane);
    }
}

__kernel void pair_score(__global const uchar *codes, __global const int *offsets, __global const int *rows,
                         __global const uint *n_rows, __global const uchar *query, const int length,
                         __global const char *tables, const int n_letters, const int first, const int next_one,
                         const int limit, __global scores_t *memory, __global uint *next, __global int *scores,
                         __global int *again, __global uint *n_again)
{
    scores_t table[N_CODES * COLUMNS], is_new;
    lane_codes_t columns[COLUMNS];
    together_t residues[LANES] __attribute__((aligned(64)));
    lanes_t lanes;
    lanes_state_t s;
    ends_t ends;
    int n_waited = PATIENCE;
    memory += get_global_id(0) * 2 * length;
    s.first = (scores_t)((score_t)(SABOTAGE ? next_one : first));
    s.next = (scores_t)((score_t)next_one);
    s.corner = s.border = s.best = (scores_t)(0);
    begin_lanes(&lanes, *n_rows);
    while (1) {
        if (lanes.n_idle && !lanes.is_dry && (n_waited >= PATIENCE || lanes.n_idle == lanes.n_lanes)) {
            take_sequences(&lanes, (score_t *)&is_new, offsets, rows, *n_rows, next);
            begin_sequences(&s, is_new, memory, length, first, next_one);
            n_waited = 0;
        }
        if (lanes.n_idle == lanes.n_lanes) return;
        const int fewest = fewest_left(&lanes);
        int passes = (fewest - 1) / COLUMNS;
        if (lanes.n_idle && !lanes.is_dry) passes = min(passes, 1 + (PATIENCE - n_waited) / lanes.n_idle);
        if (passes > 0) read_residues(residues, &lanes, codes);
        for (int pass = 0; pass < passes; pass++) {
            sort_columns(columns, residues);
            /* Ahead, since what was written in parts cannot be read in whole until it has reached the cache. */
            if (pass + 1 < passes) read_residues(residues, &lanes, codes);
            score_letters(table, (const uchar *)columns, tables, n_letters);
            next_columns(&s, memory, query, length, table, 0);
        }
        lanes.left -= passes * COLUMNS;
        n_waited += passes * lanes.n_idle;
        if (fewest - passes * COLUMNS > COLUMNS) continue;
        find_ends(&ends, &lanes);
        read_last_residues(residues, &lanes, codes);
        sort_columns(columns, residues);
        score_letters(table, (const uchar *)columns, tables, n_letters);
        next_columns(&s, memory, query, length, table, &ends);
        lanes.left -= COLUMNS;
        finish(&lanes, &s, scores, again, n_again, limit);
        n_waited += lanes.n_idle;
    }
}
