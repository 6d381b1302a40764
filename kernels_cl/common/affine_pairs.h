/* Cells of Smith-Waterman with affine gaps, for two targets at once: each value is a pair of signed 16-bit
   numbers (common/pairs.h).

   Scores are kept `bias` above what they are, so that none is less than `bias` and no sum of a score and a
   biased score, as whole words, borrows from one number to the other. The scores of gaps are kept `first` higher
   still: so the score that opens a gap needs no subtraction, and one is enough for both kinds of gaps.

   Macros: MODE       0 with gaps, 3 without
           SABOTAGE   1: a gap opens at the cost of going on */

#include "common/alignment_modes.h"
#include "common/pairs.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

typedef struct {
    pair_t floor;      /* a score of 0 */
    pair_t gap_floor;  /* that of a gap that is worth 0 */
    pair_t next;       /* less what each further residue of a gap costs */
    pair_t first;      /* less what the first one costs */
} costs_t;

costs_t costs_of(int bias, int first, int next)
{
    const int opening = SABOTAGE ? next : first;
    costs_t c;
    c.floor = PAIR(bias);
    c.gap_floor = PAIR(bias + opening);
    c.next = PAIR(-next);
    c.first = PAIR(-opening);
    return c;
}

/* One cell: `reached` is the score of the cell before on the diagonal with that of this one's letters; the gaps
   that end here are `e`, in the query, and `f`, in the target. Both are carried on. */
pair_t affine_pair(pair_t reached, pair_t *e, pair_t *f, const costs_t *c)
{
#if MODE == UNGAPPED
    return HIGHER_PAIR(reached, c->floor);
#else
    const pair_t score = ADD_AT_LEAST(HIGHEST_PAIR(*e, *f, c->gap_floor), c->first, reached);
    *e = ADD_AT_LEAST(*e, c->next, score);
    *f = ADD_AT_LEAST(*f, c->next, score);
    return score;
#endif
}
