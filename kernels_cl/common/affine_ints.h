/* A lane's rows of Smith-Waterman, Needleman-Wunsch and what lies between, for one target, in 32 bits.

   The scores of gaps are kept `first` higher than they are, so the score that opens a gap needs no subtraction.

   Macros: ROWS   residues of the query
           IS_GLOBAL, IS_SEMIGLOBAL, UNGAPPED, IS_FLOORED   the mode; the last one if alignments begin anywhere */

#define NEVER (-(1 << 29))

typedef struct { int first, next; } costs_t;

typedef struct {
    int score[ROWS], across[ROWS];
    int corner;    /* the score above the first row, at the residue before */
    int best;
    int n_rows;    /* rows that hold a residue of the query */
    int end;       /* the row of its last residue, or -1 */
} rows_t;

costs_t costs_of(int bias, int first, int next)
{
    const costs_t c = {first, next};
    return c;
}

int gap_of(const costs_t *c, int length)
{
    return IS_GLOBAL && length > 0 ? -c->first - (length - 1) * c->next : 0;
}

/* What lies above the first residue of the query, at the j-th of the target. */
uint2 border(const costs_t *c, int j)
{
    return (uint2)(gap_of(c, j + 1), gap_of(c, j + 1));
}

uint2 open_rows(rows_t *s, const costs_t *c, int first_row, int query_length)
{
#pragma unroll
    for (int k = 0; k < ROWS; k++) s->score[k] = s->across[k] = gap_of(c, first_row + k + 1);
    s->corner = gap_of(c, first_row);
    s->n_rows = query_length - first_row;
    s->end = s->n_rows > 0 && s->n_rows <= ROWS ? s->n_rows - 1 : -1;
    return (uint2)(s->score[ROWS - 1], s->score[ROWS - 1]);
}

void open_best(rows_t *s, const costs_t *c)
{
    s->best = IS_FLOORED ? 0 : NEVER;
}

/* Whether an alignment may end in a cell. */
int may_end(const rows_t *s, int k, int is_last)
{
    if (IS_FLOORED) return 1;
    if (IS_SEMIGLOBAL) return k == s->end || (is_last && k < s->n_rows);
    return k == s->end && is_last;
}

/* The next residue of the target, the last one or not. */
uint2 next_column(rows_t *s, uint words[1][WORDS], uint2 upper, int is_last, const costs_t *c)
{
    int corner = s->corner, down = (int)upper.y;
    s->corner = (int)upper.x;
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        const int gain = (int)(words[0][k / 4] << (24 - 8 * (k % 4))) >> 24;
        int score = corner + gain;
        if (!UNGAPPED) score = max(score, max(s->across[k], down) - c->first);
        if (IS_FLOORED) score = max(score, 0);
        corner = s->score[k];
        s->score[k] = score;
        s->across[k] = max(s->across[k] - c->next, score);
        down = max(down - c->next, score);
        if (may_end(s, k, is_last)) s->best = max(s->best, score);
    }
    return (uint2)(s->score[ROWS - 1], down);
}

/* The best score of the k-th target, in this lane. */
int best_of(const rows_t *s, int k, int bias)
{
    return s->best;
}
