/* Iterative refinement (clalign/reference/refinement.py): residues are moved to better columns.

   `refinement_score` finds the expected score of an alignment, column by column. A sweep over it is
   `refinement_gather`, which lists the residues of each column that gain by a move, `refinement_heap`, which puts those
   first that reach the highest score, and `refinement_move`, which moves them; it does so much in one launch, and is
   launched until there is nothing left.

   Buffers
     pairs, firsts, others, rows, entries, gaps   see common/sparse_posteriors.h
     partner_starts, partners   int[n_sequences + 1], int2[]: the others that each sequence is compared with, in rising
              order, and the pairs that they are
     table    int[n_columns][n_sequences]   the residue of each sequence in each column, or -1
     heap     wish_t[n_residues]            residues that gain by a move, the highest score first
     state    int[N_STATE]                  in: 0
     moves    int[n_residues][4]            out: sequence, position, column before and after
     scores   float[n_columns]              out

   Scalars
     n_sequences, n_columns
     factor   of gap posteriors
     n_kept   the first sequences, whose residues stay where they are
     budget   wishes looked at in one launch

   Macros
     SABOTAGE   1 plants a fault, for the test of the tests

   Geometry: one work-item a column, work-groups of 1; of `refinement_heap` and `refinement_move` one in all. */

#include "common/sparse_posteriors.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

enum { N_WISHES, N_MOVES, N_STATE };

typedef struct {
    float score;
    int sequence, position, column;
} wish_t;

/* What an alignment is scored by. */
typedef struct {
    posteriors_t posteriors;
    __global const int *partner_starts;
    __global const int2 *partners;
    float factor;
} scoring_t;

/* What residue a of sequence i adds to the score of an alignment in a column. */
float residue_score(const scoring_t *s, __global const int *column, int i, int a)
{
    const posteriors_t *p = &s->posteriors;
    const float factor = s->factor;
    float score = 0.0f, gap_a, gap_b;
    for (int k = s->partner_starts[i]; k < s->partner_starts[i + 1]; k++) {
        const int j = s->partners[k].x, pair = s->partners[k].y, b = column[j];
        if (b >= 0) {
            const float matched = pair_posteriors(p, pair, i, j, a, b, &gap_a, &gap_b);
            score += (SABOTAGE ? 1.0f : 2.0f) * matched - factor * gap_b;
        } else
            score += factor * gap_posterior(p, pair, i, j, a);
    }
    return score;
}

/* The most that a residue may add, and the first column that it adds it in. */
float best_column(const scoring_t *s, __global const int *table, int n_columns, int i, int a, int own, int *where)
{
    const int n = s->posteriors.n_sequences;
    float best = residue_score(s, table + (size_t)own * n, i, a);
    *where = own;
    for (int step = 1; step >= -1; step -= 2)
        for (int c = own + step; c >= 0 && c < n_columns; c += step) {
            __global const int *column = table + (size_t)c * n;
            if (column[i] >= 0) break;
            const float score = residue_score(s, column, i, a);
            if (score > best) {
                best = score;
                *where = c;
            }
        }
    return best;
}

int is_after(wish_t one, wish_t other)
{
    if (one.score != other.score) return one.score < other.score;
    if (one.sequence != other.sequence) return one.sequence < other.sequence;
    return one.position < other.position;
}

void wish_rise(__global wish_t *heap, int hole, wish_t wish)
{
    while (hole > 0 && is_after(heap[(hole - 1) / 2], wish)) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = wish;
}

wish_t wish_pop(__global wish_t *heap, int n)
{
    const wish_t top = heap[0], last = heap[n - 1];
    int hole = 0, child;
    while ((child = 2 * hole + 1) < n - 1) {
        if (child + 1 < n - 1 && is_after(heap[child], heap[child + 1])) child++;
        if (!is_after(last, heap[child])) break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = last;
    return top;
}

__kernel void refinement_score(const int n_sequences, __global const int *pairs, __global const int *firsts,
                               __global const int *others, __global const posterior_row_t *rows,
                               __global const posterior_entry_t *entries, __global const float *gaps,
                               __global const int *partner_starts, __global const int2 *partners,
                               __global const int *table, const int n_columns, const float factor,
                               __global float *scores)
{
    const scoring_t s = {{n_sequences, pairs, firsts, others, rows, entries, gaps}, partner_starts, partners, factor};
    const int c = get_global_id(0);
    __global const int *column = table + (size_t)c * n_sequences;
    float matched = 0.0f, gapped = 0.0f;
    for (int i = 0; i < n_sequences; i++)
        for (int k = partner_starts[i]; k < partner_starts[i + 1] && column[i] >= 0; k++) {
            const int j = partners[k].x, pair = partners[k].y;
            if (column[j] < 0) gapped += gap_posterior(&s.posteriors, pair, i, j, column[i]);
            else if (i < j) matched += match_posterior(&s.posteriors, firsts[pair] + column[i], column[j]);
        }
    scores[c] = 2.0f * matched + factor * gapped;
}

__kernel void refinement_gather(const int n_sequences, __global const int *pairs, __global const int *firsts,
                                __global const int *others, __global const posterior_row_t *rows,
                                __global const posterior_entry_t *entries, __global const float *gaps,
                                __global const int *partner_starts, __global const int2 *partners,
                                __global const int *table, const int n_columns, const float factor,
                                const int n_kept, __global wish_t *heap, __global int *state)
{
    const scoring_t s = {{n_sequences, pairs, firsts, others, rows, entries, gaps}, partner_starts, partners, factor};
    const int c = get_global_id(0);
    for (int i = n_kept; i < n_sequences; i++) {
        int where;
        wish_t wish = {0.0f, i, table[(size_t)c * n_sequences + i], c};
        if (wish.position < 0) continue;
        wish.score = best_column(&s, table, n_columns, i, wish.position, c, &where);
        if (where != c) heap[atomic_inc(state + N_WISHES)] = wish;
    }
}

__kernel void refinement_heap(__global wish_t *heap, __global const int *state)
{
    for (int k = 0; k < state[N_WISHES]; k++) wish_rise(heap, k, heap[k]);
}

__kernel void refinement_move(const int n_sequences, __global const int *pairs, __global const int *firsts,
                              __global const int *others, __global const posterior_row_t *rows,
                              __global const posterior_entry_t *entries, __global const float *gaps,
                              __global const int *partner_starts, __global const int2 *partners,
                              __global int *table, const int n_columns, const float factor, const int budget,
                              __global wish_t *heap, __global int *state, __global int4 *moves)
{
    const scoring_t s = {{n_sequences, pairs, firsts, others, rows, entries, gaps}, partner_starts, partners, factor};
    for (int k = 0; k < budget && state[N_WISHES] > 0; k++) {
        wish_t wish = wish_pop(heap, state[N_WISHES]--);
        const int i = wish.sequence, a = wish.position, own = wish.column;
        int where;
        wish.score = best_column(&s, table, n_columns, i, a, own, &where);
        if (state[N_WISHES] > 0 && wish.score < heap[0].score) {
            wish_rise(heap, state[N_WISHES]++, wish);
        } else if (where != own) {
            table[(size_t)own * n_sequences + i] = -1;
            table[(size_t)where * n_sequences + i] = a;
            moves[state[N_MOVES]++] = (int4)(i, a, own, where);
        }
    }
}
