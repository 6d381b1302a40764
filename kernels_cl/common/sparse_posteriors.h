/* Posteriors of pairs of residues, of which the small ones are left out (clalign/values/sparse_posteriors.py). */

#pragma OPENCL FP_CONTRACT OFF

typedef struct { int start; float gap; } posterior_row_t;
typedef struct { int column; float probability; } posterior_entry_t;

typedef struct {
    int n_sequences;
    __global const int *pairs;                 /* [n_sequences][n_sequences]: the pair of two sequences, or -1 */
    __global const int *firsts;                /* where the rows of each pair begin, residues of the smaller one */
    __global const int *others;                /* where the gap posteriors of the larger one begin */
    __global const posterior_row_t *rows;      /* where the entries of each begin, and its gap posterior */
    __global const posterior_entry_t *entries; /* the residue of the larger one, rising within a row */
    __global const float *gaps;                /* of the larger one */
} posteriors_t;

/* The posterior of the residue of a row and one of the other sequence. */
float match_posterior(const posteriors_t *p, int row, int y)
{
    const int end = p->rows[row + 1].start;
    int e = p->rows[row].start;
    while (e < end && p->entries[e].column < y) e++;
    return e < end && p->entries[e].column == y ? p->entries[e].probability : 0.0f;
}

/* The posterior of residues a and b of sequences i and j, and the gap posteriors of both. */
float pair_posteriors(const posteriors_t *p, int pair, int i, int j, int a, int b, float *gap_a, float *gap_b)
{
    const int row = p->firsts[pair] + (i < j ? a : b), y = i < j ? b : a;
    const float gap_x = p->rows[row].gap, gap_y = p->gaps[p->others[pair] + y];
    *gap_a = i < j ? gap_x : gap_y;
    *gap_b = i < j ? gap_y : gap_x;
    return match_posterior(p, row, y);
}

/* The gap posterior of a residue of sequence i against sequence j. */
float gap_posterior(const posteriors_t *p, int pair, int i, int j, int a)
{
    const int first = p->firsts[pair], other = p->others[pair];
    return i < j ? p->rows[first + a].gap : p->gaps[other + a];
}

/* A quotient that is rounded as it should be: a division of OpenCL may be off by some units of the last place. */
float exact_quotient(float a, float b)
{
    const float q = a / b;
    return isfinite(q) ? q + fma(-q, b, a) / b : q;
}
