/* A lane's rows of Smith-Waterman for two targets at once, in 16 bits (common/affine_pairs.h).

   Macros: ROWS   residues of the query */

#include "common/gains.h"

typedef struct {
    pair_t score[ROWS], across[ROWS];
    pair_t corner; /* the score above the first row, at the residue before */
    pair_t best;
} rows_t;

uint2 border(const costs_t *c, int j)
{
    return (uint2)(c->floor, c->floor);
}

/* Returns the score at the lower edge, and the gap that leaves there. */
uint2 open_rows(rows_t *s, const costs_t *c, int first_row, int query_length)
{
#pragma unroll
    for (int k = 0; k < ROWS; k++) s->score[k] = s->across[k] = c->floor;
    s->corner = c->floor;
    return (uint2)(c->floor, c->floor);
}

void open_best(rows_t *s, const costs_t *c)
{
    s->best = c->floor;
}

/* Gains of rows k and k + 1, as common/gains.h has them; the second target's bytes are ready for it. */
#define TWO_ROWS(words, k) FOUR_BYTES(words[0][(k) / 4], words[1][(k) / 4], (k) % 4)

/* The next residues of both targets, whose gains are in `words`; `upper` is what comes from above. */
uint2 next_column(rows_t *s, uint words[2][WORDS], uint2 upper, int is_last, const costs_t *c)
{
    pair_t down = upper.y;
    /* From below, so that what is taken is still that of the residue before. */
#pragma unroll
    for (int k = ROWS - 2; k >= 0; k -= 2) {
        const uint word = TWO_ROWS(words, k);
        s->score[k + 1] = add_high(s->score[k], word);
        s->score[k] = add_low(k > 0 ? s->score[k - 1] : s->corner, word);
    }
    s->corner = upper.x;
#pragma unroll
    for (int k = 0; k < ROWS; k += 2) {
        s->score[k] = next_cell(s->score[k], &s->across[k], &down, c);
        s->score[k + 1] = next_cell(s->score[k + 1], &s->across[k + 1], &down, c);
        s->best = HIGHEST_PAIR(s->best, s->score[k], s->score[k + 1]);
    }
    return (uint2)(s->score[ROWS - 1], down);
}

/* The best score of the k-th target, in this lane. */
int best_of(const rows_t *s, int k, int bias)
{
    return k ? SECOND_OF(s->best) - bias : FIRST_OF(s->best) - bias;
}
