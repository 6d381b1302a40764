/* Forward, Backward and the expected counts of a pair HMM, one cell after the other: the laboratory's sequential
   program.

   One work-item does everything, row by row with whole tables, as one core of a processor would.

   Buffers: as in pair_hmm_ladder_lanes.cl, but for
     partials   float8[m + 1]               expected steps of each row's cells
     matches    float[A][A]                 in: 0; in and out: sums of the shares of the rows done by now

   Macros
     SABOTAGE   1, 2 plant faults, for the test of the tests

   Geometry: one work-item. A launch does the rows from `first` to before `end`; Backward from the last on. */

#include "common/pair_hmm_ladder.h"

__kernel void forward(PAIR_ARGUMENTS, __global number_t *table, const int first, const int end)
{
    const ladder_pair_t p = LOADED_PAIR;
    for (int i = first; i < end; i++) {
        for (int j = 0; j <= n; j++) {
            for (int s = 0; s < N_FIELDS; s++) {
                number_t own = (number_t)(0);
                forward_state(&p, &own, table, s, i, j);
                table[cell_of(&p, i, j) + s] = own;
            }
        }
    }
}

__kernel void backward(PAIR_ARGUMENTS, __global number_t *table, const int first, const int end)
{
    const ladder_pair_t p = LOADED_PAIR;
    for (int i = end - 1; i >= first; i--) {
        for (int j = n; j >= 0; j--) {
            for (int s = 0; s < N_FIELDS; s++) {
                number_t own;
                backward_state(&p, &own, table, s, i, j);
                table[cell_of(&p, i, j) + s] = own;
            }
        }
    }
}

__kernel void posteriors(PAIR_ARGUMENTS, __global const number_t *forward, __global const number_t *backward,
                         __global float *shares)
{
    const ladder_pair_t p = LOADED_PAIR;
    const number_t total = total_of(&p, forward);
    for (int i = 1; i <= m; i++) {
        for (int j = 1; j <= n; j++)
            shares[(size_t)(i - 1) * n + j - 1] = match_share(&p, forward, backward, total, i, j);
    }
}

__kernel void expected_counts(PAIR_ARGUMENTS, __global const number_t *forward, __global const number_t *backward,
                              __global float8 *partials, __global float *matches, const int first, const int end)
{
    const ladder_pair_t p = LOADED_PAIR;
    const number_t total = total_of(&p, forward);
    for (int i = first; i < end; i++) {
        float8 sum = (float8)(0.0f);
        for (int j = 0; j <= n; j++) {
            sum += expected_steps_from(&p, forward, backward, total, i, j);
            if (i > 0 && j > 0)
                matches[x[i - 1] * n_letters + y[j - 1]] += match_share(&p, forward, backward, total, i, j);
        }
        partials[i] = sum;
    }
}

__kernel void add_up(PAIR_ARGUMENTS, __global const number_t *forward, __global const number_t *backward,
                     __global const float8 *partials, const int n_partials, __global float *results)
{
    const ladder_pair_t p = LOADED_PAIR;
    float8 sum = (float8)(0.0f);
    for (int k = 0; k < n_partials; k++) sum += partials[k];
    write_results(&p, forward, backward, sum, results);
}
