/* Forward, Backward and the expected counts of a pair HMM, one pair at a time: the laboratory's published rungs.

   They are this one source with other choices: independent macros. It is here to be measured, not to be fast: the
   program computes all pairs at once with pair_hmm_lanes.cl and pair_hmm_vector.cl. A launch does the cells of one
   anti-diagonal; its end is the barrier before the next one.

   Buffers
     x, y       uchar[m], uchar[n]          places of the residues in the emissions
     odds       float[A][A]                 emissions of pairs over those of gaps, A = n_letters
     steps      float[8]                    match to match, match to end, open, extend, close
     table      number_t[m + 1][n + 1][3]   in, forwards: 0; in and out: of the diagonals done by now
     forward, backward                      such tables, whole
     shares     float[m][n]                 how often paths match two residues
     partials   float8[n_partials]          expected steps of each work-group's cells
     results    float[N_HMM_RESULTS]        out: see pair_hmm.h, and from SUMS on the expected steps
     rows, row_starts        int[m], int[A + 1]  the rows of each letter of x, and where those of each begin
     columns, column_starts  int[n], int[A + 1]  the same of y
     by_letter  float[A][n]                 sums of the shares over the rows of each letter
     matches    float[A][A]                 out: sums of those over the columns of each letter

   Macros
     LOCAL_CELLS   0 terms are added in global memory; 1 the cell is in local memory meanwhile
     BY_STATE      0 a work-item computes a cell; 1 one of its states, the same in a third of the group
     GROUP         work-items of a work-group of forward and backward; with BY_STATE a multiple of 3
     SUM_GROUP     work-items of a work-group that adds up, a power of 2
     SABOTAGE      1, 2 plant faults, for the test of the tests

   Geometry: forward, backward: a work-item a cell or a state, from the first row of the diagonal on. posteriors,
   expected_steps: a work-item a cell. add_up: one work-group. sum_rows, sum_columns: a work-item a result. */

#ifndef LOCAL_CELLS
#define LOCAL_CELLS 1
#endif
#ifndef BY_STATE
#define BY_STATE 1
#endif
#ifndef GROUP
#define GROUP 240
#endif
#ifndef SUM_GROUP
#define SUM_GROUP 256
#endif

#if LOCAL_CELLS
#define CELL_SPACE __local
#else
#define CELL_SPACE volatile __global
#endif

#include "common/pair_hmm_ladder.h"

#define STATES_OF_ITEM (BY_STATE ? 1 : N_FIELDS)
#define CELLS_OF_GROUP (BY_STATE ? GROUP / N_FIELDS : GROUP)

CALL void sweep_cell(const ladder_pair_t *p, __global number_t *table, int diagonal, int is_back,
                     __local number_t *kept)
{
    const int item = get_local_id(0), first_state = BY_STATE ? item / CELLS_OF_GROUP : 0;
    const int i = max(0, diagonal - p->n) + (int)get_group_id(0) * CELLS_OF_GROUP + item % CELLS_OF_GROUP;
    const int j = diagonal - i;
    if (i > min(diagonal, p->m)) return;
    __global number_t *cell = table + cell_of(p, i, j);
#pragma unroll
    for (int s = 0; s < STATES_OF_ITEM; s++) {
        const int state = first_state + s;
#if LOCAL_CELLS
        __local number_t *own = kept + item * STATES_OF_ITEM + s;
        if (!is_back) *own = cell[state];
#else
        volatile __global number_t *own = cell + state;
#endif
        if (is_back) backward_state(p, own, table, state, i, j);
        else forward_state(p, own, table, state, i, j);
#if LOCAL_CELLS
        cell[state] = *own;
#endif
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void forward(PAIR_ARGUMENTS, __global number_t *table, const int diagonal)
{
    __local number_t kept[LOCAL_CELLS ? GROUP * STATES_OF_ITEM : 1];
    const ladder_pair_t p = LOADED_PAIR;
    sweep_cell(&p, table, diagonal, 0, kept);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void backward(PAIR_ARGUMENTS, __global number_t *table, const int diagonal)
{
    __local number_t kept[LOCAL_CELLS ? GROUP * STATES_OF_ITEM : 1];
    const ladder_pair_t p = LOADED_PAIR;
    sweep_cell(&p, table, diagonal, 1, kept);
}

__kernel void posteriors(PAIR_ARGUMENTS, __global const number_t *forward, __global const number_t *backward,
                         __global float *shares)
{
    const ladder_pair_t p = LOADED_PAIR;
    const size_t k = get_global_id(0);
    if (k < (size_t)m * n)
        shares[k] = match_share(&p, forward, backward, total_of(&p, forward), k / n + 1, k % n + 1);
}

CALL void add_up_in_group(__local float8 *sums)
{
    const int own = get_local_id(0);
    for (int apart = SUM_GROUP / 2; apart > 0; apart /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (own < apart) sums[own] += sums[own + apart];
    }
}

__kernel __attribute__((reqd_work_group_size(SUM_GROUP, 1, 1)))
void expected_steps(PAIR_ARGUMENTS, __global const number_t *forward, __global const number_t *backward,
                    __global float8 *partials)
{
    __local float8 sums[SUM_GROUP];
    const ladder_pair_t p = LOADED_PAIR;
    const size_t k = get_global_id(0), width = n + 1;
    float8 found = (float8)(0.0f);
    if (k < (m + 1) * width)
        found = expected_steps_from(&p, forward, backward, total_of(&p, forward), k / width, k % width);
    sums[get_local_id(0)] = found;
    add_up_in_group(sums);
    if (get_local_id(0) == 0) partials[get_group_id(0)] = sums[0];
}

__kernel __attribute__((reqd_work_group_size(SUM_GROUP, 1, 1)))
void add_up(PAIR_ARGUMENTS, __global const number_t *forward, __global const number_t *backward,
            __global const float8 *partials, const int n_partials, __global float *results)
{
    __local float8 sums[SUM_GROUP];
    const ladder_pair_t p = LOADED_PAIR;
    float8 sum = (float8)(0.0f);
    for (int k = get_local_id(0); k < n_partials; k += SUM_GROUP) sum += partials[k];
    sums[get_local_id(0)] = sum;
    add_up_in_group(sums);
    if (get_local_id(0) == 0) write_results(&p, forward, backward, sums[0], results);
}

__kernel void sum_rows(const int n, const int n_letters, __global const float *shares, __global const int *rows,
                       __global const int *row_starts, __global float *by_letter)
{
    const int k = get_global_id(0), letter = k / n;
    if (letter >= n_letters) return;
    float sum = 0.0f;
    for (int r = row_starts[letter]; r < row_starts[letter + 1]; r++) sum += shares[(size_t)rows[r] * n + k % n];
    by_letter[k] = sum;
}

__kernel void sum_columns(const int n, const int n_letters, __global const float *by_letter,
                          __global const int *columns, __global const int *column_starts, __global float *matches)
{
    const int k = get_global_id(0), letter = k / n_letters, other = k % n_letters;
    if (letter >= n_letters) return;
    float sum = 0.0f;
    for (int c = column_starts[other]; c < column_starts[other + 1]; c++) sum += by_letter[letter * n + columns[c]];
    matches[k] = sum;
}
