/* Back through the sums of an optimal accuracy alignment (clalign/reference/envelope.py).

   Macros
     CERTAINTY   1: the posterior probability of each residue is written as a number, not that of each step as a digit */

#include "common/local_rows.h"

#ifndef CERTAINTY
#define CERTAINTY 0
#endif

#if CERTAINTY
typedef float certainty_t;
#else
typedef uchar certainty_t;
#endif

/* Where M came from (two bits); I from I, D from D. */
enum { BEST_FROM_M, BEST_FROM_I, BEST_FROM_D, BEST_FROM_B };
enum { BEST_I_FROM_I = 4, BEST_D_FROM_D = 8 };

/* One problem: what its traceback reads. */
typedef struct {
    __global const float *pairs_m, *pairs_i, *slots;
    __global const uchar *cells;
    int vectors;
} trace_t;

/* Digits of posterior probabilities, as text. */
CALL uchar digit(float posterior)
{
    const wide rounded = (wide)posterior + (wide)0.05;
    return rounded >= 1 ? '*' : (uchar)('0' + (int)(rounded * 10));
}

/* Go back from the match state at `at` (striped order) of a row. The text ends before `end`; returns where it begins.
   `start` gets the first residue and node, counted from 0. Certainties are written from the first residue on. */
CALL int alignment_traceback(const trace_t *t, int x, int at, __global uchar *states, __global certainty_t *posteriors,
                             int end, int *start)
{
    int q = at / 4, lane = at % 4, k = lane * t->vectors + q + 1, state = BEST_FROM_M;
    __global const float *slots = t->slots;
    while (x > 0 && k > 0 && state != BEST_FROM_B) {
        q = (k - 1) % t->vectors;
        lane = (k - 1) / t->vectors;
        const size_t here = (size_t)((x - 1) * t->vectors + q) * ROW_LANES + lane;
        const int cell = t->cells[here];
        end--;
        if (state == BEST_FROM_D) {
            states[end] = 'D';
            if (!CERTAINTY) posteriors[end] = '.';
            state = cell & BEST_D_FROM_D ? BEST_FROM_D : BEST_FROM_M;
            k--;
            continue;
        }
        const float posterior = (state == BEST_FROM_M ? t->pairs_m : t->pairs_i)[here] * SLOT(slots, x, SLOT_B);
        states[end] = state == BEST_FROM_M ? 'M' : 'I';
        posteriors[CERTAINTY ? x - 1 : end] = CERTAINTY ? posterior : (float)digit(posterior);
        x--;
        if (state == BEST_FROM_I) {
            state = cell & BEST_I_FROM_I ? BEST_FROM_I : BEST_FROM_M;
            continue;
        }
        state = cell & 3;
        k--;
    }
    start[0] = x;
    start[1] = k;
    return end;
}
