/* BLOCK consecutive nodes of one row, as the function NODES_OF_BLOCK: included once for each width,
   first under a condition, so that the width is known wherever a loop over it is unrolled. */

#include "common/viterbi_ladder.h"

#ifndef BLOCK
#define BLOCK 1
#define NODES_OF_BLOCK one_node
#endif

int NODES_OF_BLOCK(const work_t *w, int k, int now, uint symbol, int e)
{
    const int before = 1 - now;
#if SCHEDULING == 0
#pragma unroll
    for (int u = 0; u < BLOCK; u++, k++) {
        int best = STATE_AT(w, ROW_M(before, k - 1)) + TRANSITION_AT(w, k, SABOTAGE ? TIM : TMM);
        best = higher(best, STATE_AT(w, ROW_I(before, k - 1)) + TRANSITION_AT(w, k, TIM));
        best = higher(best, STATE_AT(w, ROW_D(before, k - 1)) + TRANSITION_AT(w, k, TDM));
        best = higher(best, STATE_AT(w, PLACE_B(before)) + TRANSITION_AT(w, k, TBM));
        STATE_AT(w, ROW_M(now, k)) = CLAMP(CLAMP(best) + EMISSION_AT(w->match, symbol, k));
        best = STATE_AT(w, ROW_M(before, k)) + TRANSITION_AT(w, k, TMI);
        best = higher(best, STATE_AT(w, ROW_I(before, k)) + TRANSITION_AT(w, k, TII));
        STATE_AT(w, ROW_I(now, k)) = CLAMP(CLAMP(best) + EMISSION_AT(w->insert, symbol, k));
        best = STATE_AT(w, ROW_M(now, k - 1)) + TRANSITION_AT(w, k - 1, TMD);
        best = higher(best, STATE_AT(w, ROW_D(now, k - 1)) + TRANSITION_AT(w, k - 1, TDD));
        STATE_AT(w, ROW_D(now, k)) = CLAMP(best);
        e = higher(e, STATE_AT(w, ROW_M(now, k)) + TRANSITION_AT(w, k, TME));
    }
    return e;
#else
    const int b = STATE_AT(w, PLACE_B(before));
    int m[BLOCK], i[BLOCK], d[BLOCK], from_i[BLOCK], from_d[BLOCK], extended[BLOCK];
#pragma unroll
    for (int u = 0; u < BLOCK; u++) {
        const int by_m = TRANSITION_AT(w, k + u, SABOTAGE ? TIM : TMM);
        m[u] = higher(STATE_AT(w, ROW_M(before, k + u - 1)) + by_m, b + TRANSITION_AT(w, k + u, TBM));
        from_i[u] = STATE_AT(w, ROW_I(before, k + u - 1)) + TRANSITION_AT(w, k + u, TIM);
        from_d[u] = STATE_AT(w, ROW_D(before, k + u - 1)) + TRANSITION_AT(w, k + u, TDM);
        i[u] = STATE_AT(w, ROW_M(before, k + u)) + TRANSITION_AT(w, k + u, TMI);
        extended[u] = STATE_AT(w, ROW_I(before, k + u)) + TRANSITION_AT(w, k + u, TII);
    }
    int opens = STATE_AT(w, ROW_M(now, k - 1)), goes_on = STATE_AT(w, ROW_D(now, k - 1));
#pragma unroll
    for (int u = 0; u < BLOCK; u++) {
        m[u] = higher(m[u], higher(from_i[u], from_d[u]));
        i[u] = higher(i[u], extended[u]);
        m[u] = CLAMP(m[u]) + EMISSION_AT(w->match, symbol, k + u);
        i[u] = CLAMP(i[u]) + EMISSION_AT(w->insert, symbol, k + u);
        m[u] = CLAMP(m[u]);
        i[u] = CLAMP(i[u]);
    }
#pragma unroll
    for (int u = 0; u < BLOCK; u++) {
        d[u] = higher(opens + TRANSITION_AT(w, k + u - 1, TMD), goes_on + TRANSITION_AT(w, k + u - 1, TDD));
        goes_on = d[u] = CLAMP(d[u]);
        opens = m[u];
        e = higher(e, m[u] + TRANSITION_AT(w, k + u, TME));
    }
#pragma unroll
    for (int u = 0; u < BLOCK; u++) {
        STATE_AT(w, ROW_M(now, k + u)) = m[u];
        STATE_AT(w, ROW_I(now, k + u)) = i[u];
        STATE_AT(w, ROW_D(now, k + u)) = d[u];
    }
    return e;
#endif
}

#undef BLOCK
#undef NODES_OF_BLOCK
