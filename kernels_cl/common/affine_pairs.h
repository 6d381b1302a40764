/* Cells of Smith-Waterman with affine gaps, for two targets at once: each value is a pair of signed 16-bit
   numbers (common/pairs.h).

   Scores are kept `bias` above what they are, so that none is less than `bias` and no sum of a score and a
   gain, as whole words, borrows from one number to the other. The scores of gaps are kept `first` higher
   still: so the score that opens a gap needs no subtraction, and one is enough for both kinds of gaps.

   A pair of gains is one number, gain of the second * 65536 + gain of the first, which is added as such.

   Macros: UNGAPPED   1 if there are no gaps */

#ifndef UNGAPPED
#define UNGAPPED 0
#endif

typedef struct {
    pair_t floor;      /* a score of 0 */
    pair_t gap_floor;  /* that of a gap that is worth 0 */
    pair_t next;       /* less what each further residue of a gap costs */
    pair_t first;      /* less what the first one costs */
} costs_t;

costs_t costs_of(int bias, int first, int next)
{
    costs_t c;
    c.floor = PAIR(bias);
    c.gap_floor = PAIR(bias + first);
    c.next = PAIR(-next);
    c.first = PAIR(-first);
    return c;
}

/* One cell: `reached` is the score of the cell before on the diagonal and the gain of this one; the gaps
   that end here are `across`, in the query, and `down`, in the target. Both are carried on. */
pair_t next_cell(pair_t reached, pair_t *across, pair_t *down, const costs_t *c)
{
#if UNGAPPED
    return HIGHER_PAIR(reached, c->floor);
#else
    const pair_t score = ADD_AT_LEAST(HIGHEST_PAIR(*across, *down, c->gap_floor), c->first, reached);
    *across = ADD_AT_LEAST(*across, c->next, score);
    *down = ADD_AT_LEAST(*down, c->next, score);
    return score;
#endif
}
