/* Posteriors of pairs of residues, of which the small ones are left out (clalign/values/sparse_posteriors.py). */

#pragma OPENCL FP_CONTRACT OFF

typedef struct {
    int n_sequences;
    __global const int *pairs;           /* [n_sequences][n_sequences]: the pair of two sequences, or -1 */
    __global const int *rows;            /* where the rows of each pair begin, which are residues of the smaller one */
    __global const int *others;          /* where the gap posteriors of the larger one begin */
    __global const int *starts;          /* where the entries of each row begin */
    __global const int *columns;         /* the residue of the larger one of each entry, rising within a row */
    __global const float *probabilities; /* of each entry */
    __global const float *x_gaps;        /* of each row */
    __global const float *y_gaps;
} posteriors_t;

/* The posterior of residues of the two sequences of a pair. */
float match_posterior(const posteriors_t *p, int pair, int x, int y)
{
    const int row = p->rows[pair] + x, end = p->starts[row + 1];
    int e = p->starts[row];
    while (e < end && p->columns[e] < y) e++;
    return e < end && p->columns[e] == y ? p->probabilities[e] : 0.0f;
}

/* The gap posterior of a residue of sequence i against sequence j. */
float gap_posterior(const posteriors_t *p, int pair, int i, int j, int a)
{
    __global const float *x_gaps = p->x_gaps + p->rows[pair], *y_gaps = p->y_gaps + p->others[pair];
    return (i < j ? x_gaps : y_gaps)[a];
}

/* A quotient that is rounded as it should be: a division of OpenCL may be off by some units of the last place. */
float exact_quotient(float a, float b)
{
    const float q = a / b;
    return isfinite(q) ? q + fma(-q, b, a) / b : q;
}
