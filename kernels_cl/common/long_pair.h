/* A tile of the matrix of one long pair: rows (residues of the query) in lanes, one column (residue of the target)
   after the other. Each lane has ROWS rows and is a column behind the lane above it.

   A cell is known to others by its score and by what the gap is worth that enters the next cell: along the target (to
   the right) or along the query (downwards). Recurrences and order of ties: clalign/reference/smith_waterman_trace.py.

   Macros
     ROWS     rows of a lane, a multiple of 4
     LETTERS  letters that scores are given for
     LOCAL, TRACED, SABOTAGE   see common/long_pair_plan.h */

#include "common/lane_ints.h"
#include "common/pair_directions.h"

#ifndef ROWS
#define ROWS 4
#endif
#ifndef LETTERS
#define LETTERS 6
#endif

#define STRIP (LANES * ROWS) /* rows of a tile */

#include "common/long_pair_plan.h"

/* Columns that are read before they are needed: what other groups have written is some 300 cycles away. */
#if ROWS > 4
#define AHEAD 4
#else
#define AHEAD 8
#endif

/* The rows of a strip: scores and gaps of the column before, and the score above and before the first row. */
typedef struct { numbers h[ROWS], e[ROWS], corner, best, best_sum, best_row; } lane_rows_t;

/* Whether scores have a word each, or four share one. */
#define WIDE_SCORES (LETTERS * STRIP <= 4096)
#if WIDE_SCORES
typedef int4 four_scores_t;
#else
typedef uint four_scores_t;
#endif

/* What the rows of a strip score with a letter. */
typedef struct {
    __local four_scores_t *fours; /* [LETTERS][ROWS / 4][LANES] */
} strip_scores_t;

/* Take the letters of a strip, whose first row is `row` of m. */
CALL void load_scores(const crew_t *team, strip_scores_t *s, __global const uchar *query, int row, int m,
                      __global const char *scores)
{
    for (int q = 0; q < ROWS / 4; q++) {
        const int first = row + (int)team->lane * ROWS + 4 * q;
        uint letters[4];
        for (int k = 0; k < 4; k++) letters[k] = first + k < m ? query[first + k] : 0;
        for (int b = 0; b < LETTERS; b++) {
#if WIDE_SCORES
            const int4 four = (int4)(scores[letters[0] * LETTERS + b], scores[letters[1] * LETTERS + b],
                                     scores[letters[2] * LETTERS + b], scores[letters[3] * LETTERS + b]);
#else
            uint four = 0;
            for (int k = 0; k < 4; k++) four |= (uint)(uchar)scores[letters[k] * LETTERS + b] << 8 * k;
#endif
            s->fours[(b * (ROWS / 4) + q) * LANES + team->lane] = four;
        }
    }
}

/* The scores of the rows with the letters of the lanes' columns. */
CALL void find_scores(const crew_t *team, const strip_scores_t *s, numbers letters, const long_costs_t *c,
                      numbers *found)
{
#pragma unroll
    for (int q = 0; q < ROWS / 4; q++) {
        const four_scores_t four = s->fours[(letters * (ROWS / 4) + q) * LANES + team->lane];
#if WIDE_SCORES
        found[4 * q] = four.x, found[4 * q + 1] = four.y, found[4 * q + 2] = four.z, found[4 * q + 3] = four.w;
#else
#pragma unroll
        for (int k = 0; k < 4; k++) found[4 * q + k] = (int)four << (24 - 8 * k) >> 24;
#endif
    }
}

/* A column of every lane that is inside of the tile. `f` is the gap that enters the first row, and then the one that
   leaves the last, without what its first residue costs. `cells` gets what decides on the way back. Return the highest
   score of each lane. */
CALL numbers take_cells(lane_rows_t *s, const numbers *scores, numbers above, numbers *f, const long_costs_t *c,
                        numbers inside, const int is_within, numbers *cells)
{
    numbers diagonal = s->corner, gap = *f, highest = (numbers)(0);
    s->corner = is_within ? above : inside ? above : s->corner;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const numbers paired = diagonal + scores[r], e = s->e[r], entering = gap - c->first;
        numbers v = LARGER(paired, e); /* the gap downwards is left out here: its chain is the longest */
        if (LOCAL) v = LARGER(v, (numbers)(0));
        const numbers further = gap - c->next_one;
        gap = LARGER(further, SABOTAGE ? v - 1 : v);
        v = LARGER(entering, v);
        const numbers left = v - c->first, further_right = e - c->next_one, next = LARGER(further_right, left);
#if TRACED
        cells[r] = v == paired ? (numbers)(FROM_BOTH) : v == e ? (numbers)(FROM_TARGET) : (numbers)(FROM_QUERY);
        if (LOCAL) cells[r] = v <= 0 ? (numbers)(FROM_NOTHING) : cells[r];
        cells[r] += (next == left ? (numbers)(CELL_OPENS_TARGET) : (numbers)(0));
        cells[r] += (gap == v ? (numbers)(CELL_OPENS_QUERY) : (numbers)(0));
#endif
        diagonal = s->h[r];
        s->h[r] = is_within ? v : inside ? v : s->h[r];
        s->e[r] = is_within ? next : inside ? next : s->e[r];
        highest = LARGER(highest, v);
    }
    *f = gap;
    return is_within ? highest : inside ? highest : (numbers)(0);
}

/* Keep the best of the scores `h` of a column if one of them is: that with the least sum of places, then the first
   row, which is in the last column. In a column the first row has the least sum. */
CALL void keep_best(lane_rows_t *s, const numbers *h, numbers highest, numbers row, numbers column)
{
    numbers first = (numbers)(ROWS - 1);
#pragma unroll
    for (int r = ROWS - 2; r >= 0; r--) first = h[r] == highest ? (numbers)(r) : first;
    const numbers sum = row + first + column;
    const numbers is_better = (highest > s->best) | ((highest == s->best) & (sum <= s->best_sum));
    s->best = is_better ? highest : s->best;
    s->best_sum = is_better ? sum : s->best_sum;
    s->best_row = is_better ? row + first : s->best_row;
}
