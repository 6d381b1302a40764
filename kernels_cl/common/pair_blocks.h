/* Blocks of the dynamic programming matrices of pairs of sequences, one pair a lane.

   A block is BLOCK rows (residues of the query) by BLOCK columns (of the target). What goes into it is at its
   edges: above it, for each column, the score and the best gap in the target that goes on into the row below;
   left of it, for each row, the score and the best gap in the query that goes on into the next column.

   Macros
     BLOCK   rows and columns, a multiple of ROWS; up to 64 where scores have 8 bits
     ROWS    that are filled together, in registers
     LINEAR  1 if the first residue of a gap costs as much as each further one
     EQUAL   1 if there is one score for equal letters and one for all else, and no table
     ENDS    where alignments end: 0 anywhere, and no score is below 0; 1 where either sequence ends; 2 where both do
     SABOTAGE   1: no path leaves a gap in the target */

#include "common/pair_directions.h"
#include "common/saturated.h"

#ifndef BLOCK
#define BLOCK 32
#endif
#ifndef LINEAR
#define LINEAR 0
#endif
#ifndef EQUAL
#define EQUAL 1
#endif
#ifndef ENDS
#define ENDS 0
#endif

#ifndef ROWS
#define ROWS 4
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

/* Where sums saturate, the least number stands for a score of 0 that no score is below. */
#if ENDS == 0 && WIDTH != 32
#define ZERO LOWEST
#else
#define ZERO 0
#endif

#if ENDS == 0 && WIDTH == 32
#define FLOORED(h) LARGER(h, (scores_t)(ZERO))
#else
#define FLOORED(h) (h)
#endif

typedef struct { scores_t score, gap; } edge_t;

/* What is added for the first residue of a gap, for each further one, for equal letters and for others. */
typedef struct { scores_t first, next, match, mismatch; } score_params_t;

/* Letters are compared as numbers, or their scores are looked up first. */
#if EQUAL
typedef score_t letter_t;
#else
typedef uchar letter_t;
#endif

/* What is read and written of a block. What is above it may be where what is below it goes. */
typedef struct {
#if EQUAL
    __global const scores_t *query, *target; /* letters */
#endif
    __global const scores_t *table;          /* [BLOCK][BLOCK] what they score; not used if EQUAL */
    __global const edge_t *above, *left;
    __global edge_t *below, *right;
    scores_t corner;                         /* the score above the first row, left of the first column */
    scores_t last_row, last_column;          /* where the sequences end, counted from 0 */
} block_t;

#if EQUAL
#define LETTER(letters, k) letters[k]
#define PAIR_SCORE(block, params, q, t, r, c) ((q) == (t) ? (params)->match : (params)->mismatch)
#else
#define LETTER(letters, k) 0
#define PAIR_SCORE(block, params, q, t, r, c) ((block)->table[(r) * BLOCK + (c)])
#endif

#if ENDS == 1
#define MAY_END(block, r, c) ((block)->last_row == (score_t)(r) | (block)->last_column == (score_t)(c))
#else
#define MAY_END(block, r, c) ((block)->last_row == (score_t)(r) & (block)->last_column == (score_t)(c))
#endif

/* Rows r to r + ROWS - 1 of a block; returns the highest score in which an alignment may end, or `best`. */
CALL scores_t fill_rows(const block_t *block, const score_params_t *params, int r, scores_t best)
{
    __global const edge_t *above = r ? block->below : block->above;
    scores_t h[ROWS], e[ROWS], q[ROWS], corner = r ? block->left[r - 1].score : block->corner;
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        h[k] = block->left[r + k].score;
        e[k] = block->left[r + k].gap;
        q[k] = LETTER(block->query, r + k);
    }
    for (int c = 0; c < BLOCK; c++) {
        const edge_t up = above[c];
        const scores_t t = LETTER(block->target, c);
        scores_t diagonal = corner, f = up.gap;
        corner = up.score;
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            scores_t v = SUM(diagonal, PAIR_SCORE(block, params, q[k], t, r + k, c));
            diagonal = h[k];
            v = LARGER(v, e[k]);
            if (!SABOTAGE) v = LARGER(v, f);
            v = FLOORED(v);
#if ENDS == 0
            best = LARGER(best, v);
#elif ENDS == 1
            const scores_t ending = MAY_END(block, r + k, c) ? v : (scores_t)(LOWEST);
            best = LARGER(best, ending);
#endif
            h[k] = v;
            const scores_t opened = SUM(v, params->first);
#if LINEAR
            e[k] = f = opened;
#else
            e[k] = SUM(e[k], params->next);
            e[k] = LARGER(e[k], opened);
            f = SUM(f, params->next);
            f = LARGER(f, opened);
#endif
        }
        block->below[c].score = h[ROWS - 1];
        block->below[c].gap = f;
    }
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        block->right[r + k].score = h[k];
        block->right[r + k].gap = e[k];
    }
    return best;
}

CALL scores_t fill_block(const block_t *block, const score_params_t *params)
{
    scores_t best = (scores_t)(LOWEST);
    for (int r = 0; r < BLOCK; r += ROWS) best = fill_rows(block, params, r, best);
    return best;
}

/* The end that was found in a block: the first anti-diagonal with it, and its row there, counted from 0. */
typedef struct { scores_t score, diagonal, row; } end_t;

#define NO_DIAGONAL ((scores_t)(HIGHEST))

/* The directions of a block, and the best end in it: `end->score` is what to look for (with ENDS 2 it is found).
   What is above the block is overwritten. */
CALL void trace_block(const block_t *block, const score_params_t *params, __global edge_t *above,
                      __global scores_t *cells, end_t *end)
{
    for (int r = 0; r < BLOCK; r++) {
        const scores_t q = LETTER(block->query, r);
        scores_t diagonal = r ? block->left[r - 1].score : block->corner, e = block->left[r].gap;
        for (int c = 0; c < BLOCK; c++) {
            const edge_t up = above[c];
            const scores_t t = LETTER(block->target, c), pair = SUM(diagonal, PAIR_SCORE(block, params, q, t, r, c));
            diagonal = up.score;
            scores_t v = LARGER(pair, e);
            if (!SABOTAGE) v = LARGER(v, up.gap);
            v = FLOORED(v);
            scores_t cell = v == pair ? (scores_t)(FROM_BOTH) : v == e ? (scores_t)(FROM_TARGET)
                : (scores_t)(FROM_QUERY);
#if ENDS == 0
            cell = v == (scores_t)(ZERO) ? (scores_t)(FROM_NOTHING) : cell;
            scores_t is_end = v == end->score;
#elif ENDS == 1
            scores_t is_end = (v == end->score) & MAY_END(block, r, c);
#else
            scores_t is_end = MAY_END(block, r, c);
            end->score = is_end ? v : end->score;
#endif
            const scores_t opened = SUM(v, params->first);
#if LINEAR
            scores_t f = opened;
            e = opened;
            cell |= (scores_t)(CELL_OPENS_TARGET | CELL_OPENS_QUERY);
#else
            e = SUM(e, params->next);
            e = LARGER(e, opened);
            scores_t f = SUM(up.gap, params->next);
            f = LARGER(f, opened);
            cell |= (e == opened) & (scores_t)(CELL_OPENS_TARGET);
            cell |= (f == opened) & (scores_t)(CELL_OPENS_QUERY);
#endif
            above[c].score = v;
            above[c].gap = f;
            cells[r * BLOCK + c] = cell;
            is_end &= (scores_t)((score_t)(r + c)) < end->diagonal;
            end->diagonal = is_end ? (scores_t)((score_t)(r + c)) : end->diagonal;
            end->row = is_end ? (scores_t)((score_t)r) : end->row;
        }
    }
}
