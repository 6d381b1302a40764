/* A lane's rows of Smith-Waterman: for two targets at once in 16 bits (common/affine_pairs.h), or with WIDE for one in
   32 bits, and then of Needleman-Wunsch and what lies between, too.

   In 32 bits, too, the scores of gaps are kept `first` higher than they are, so the score that opens a gap needs no
   subtraction.

   Macros: ROWS   residues of the query
           WIDE   see above
           MODE   0 local, 1 global, 2 semiglobal, 3 ungapped; 1 and 2 only with WIDE */

#include "common/affine_pairs.h"

#ifndef ROWS
#define ROWS 16
#endif
#ifndef WIDE
#define WIDE 0
#endif

#define ROW_FOURS ((ROWS + 15) / 16)
#define ROW_WORDS (ROW_FOURS * 4)

#if WIDE

#define AT_ONCE 1
#define NO_SCORE (-(1 << 29))

typedef struct { int first, next; } row_costs_t;

typedef struct {
    int score[ROWS], e[ROWS];
    int corner;    /* the score above the first row, at the residue before */
    int best;
    int n_rows;    /* rows that hold a residue of the query */
    int end;       /* the row of its last residue, or -1 */
} rows_t;

row_costs_t row_costs_of(int bias, int first, int next)
{
    const row_costs_t c = {SABOTAGE ? next : first, next};
    return c;
}

int gap_of(const row_costs_t *c, int length)
{
    return MODE == GLOBAL && length > 0 ? -c->first - (length - 1) * c->next : 0;
}

/* What lies above the first residue of the query, at the j-th of the target. */
uint2 row_border(const row_costs_t *c, int j)
{
    return (uint2)(gap_of(c, j + 1), gap_of(c, j + 1));
}

uint2 open_rows(rows_t *s, const row_costs_t *c, int first_row, int query_length)
{
#pragma unroll
    for (int k = 0; k < ROWS; k++) s->score[k] = s->e[k] = gap_of(c, first_row + k + 1);
    s->corner = gap_of(c, first_row);
    s->n_rows = query_length - first_row;
    s->end = s->n_rows > 0 && s->n_rows <= ROWS ? s->n_rows - 1 : -1;
    return (uint2)(s->score[ROWS - 1], s->score[ROWS - 1]);
}

void open_best(rows_t *s, const row_costs_t *c)
{
    s->best = IS_LOCAL ? 0 : NO_SCORE;
}

/* Whether an alignment may end in a cell. */
int may_end(const rows_t *s, int k, int is_last)
{
    if (IS_LOCAL) return 1;
    if (MODE == SEMIGLOBAL) return k == s->end || (is_last && k < s->n_rows);
    return k == s->end && is_last;
}

/* The next residue of the target, the last one or not. */
uint2 next_rows_column(rows_t *s, uint words[1][ROW_WORDS], uint2 upper, int is_last, const row_costs_t *c)
{
    int corner = s->corner, f = (int)upper.y;
    s->corner = (int)upper.x;
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        const int pair = (int)(words[0][k / 4] << (24 - 8 * (k % 4))) >> 24;
        int score = corner + pair;
        if (MODE != UNGAPPED) score = max(score, max(s->e[k], f) - c->first);
        if (IS_LOCAL) score = max(score, 0);
        corner = s->score[k];
        s->score[k] = score;
        s->e[k] = max(s->e[k] - c->next, score);
        f = max(f - c->next, score);
        if (may_end(s, k, is_last)) s->best = max(s->best, score);
    }
    return (uint2)(s->score[ROWS - 1], f);
}

/* The best score of the k-th target, in this lane. */
int best_of(const rows_t *s, int k, int bias)
{
    return s->best;
}

#else

#define AT_ONCE 2

typedef costs_t row_costs_t;
#define row_costs_of costs_of

typedef struct {
    pair_t score[ROWS], e[ROWS];
    pair_t corner; /* the score above the first row, at the residue before */
    pair_t best;
} rows_t;

uint2 row_border(const row_costs_t *c, int j)
{
    return (uint2)(c->floor, c->floor);
}

/* Returns the score at the lower edge, and the gap that leaves there. */
uint2 open_rows(rows_t *s, const row_costs_t *c, int first_row, int query_length)
{
#pragma unroll
    for (int k = 0; k < ROWS; k++) s->score[k] = s->e[k] = c->floor;
    s->corner = c->floor;
    return (uint2)(c->floor, c->floor);
}

void open_best(rows_t *s, const row_costs_t *c)
{
    s->best = c->floor;
}

/* Biased scores of rows k and k + 1, as common/pairs.h has them. */
#define TWO_ROWS(words, k) FOUR_BYTES(words[0][(k) / 4], words[1][(k) / 4], (k) % 4)

/* The next residues of both targets, whose biased scores are in `words`; `upper` is what comes from above. */
uint2 next_rows_column(rows_t *s, uint words[2][ROW_WORDS], uint2 upper, int is_last, const row_costs_t *c)
{
    pair_t f = upper.y;
    /* From below, so that what is taken is still that of the residue before. */
#pragma unroll
    for (int k = ROWS - 2; k >= 0; k -= 2) {
        const uint word = TWO_ROWS(words, k);
        s->score[k + 1] = ADD_HIGH_BYTES(s->score[k], word);
        s->score[k] = ADD_LOW_BYTES(k > 0 ? s->score[k - 1] : s->corner, word);
    }
    s->corner = upper.x;
#pragma unroll
    for (int k = 0; k < ROWS; k += 2) {
        s->score[k] = affine_pair(s->score[k], &s->e[k], &f, c);
        s->score[k + 1] = affine_pair(s->score[k + 1], &s->e[k + 1], &f, c);
        s->best = HIGHEST_PAIR(s->best, s->score[k], s->score[k + 1]);
    }
    return (uint2)(s->score[ROWS - 1], f);
}

/* The best score of the k-th target, in this lane. */
int best_of(const rows_t *s, int k, int bias)
{
    return k ? SECOND_OF(s->best) - bias : FIRST_OF(s->best) - bias;
}

#endif
