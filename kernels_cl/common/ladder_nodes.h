/* BLOCK consecutive nodes of one row, as the function NODES_OF_BLOCK: included once for each width, so that
   the width is known wherever a loop over it is unrolled.

   SCHEDULING 0 takes one node after the other, in the textbook's order, with one variable: each value is
   fetched where it is needed and stored where it belongs. SCHEDULING 1 fetches for the whole block first,
   into variables of their own, so that neighboring instructions do not wait for each other; only the deletes
   must follow one another. */

int NODES_OF_BLOCK(const work_t *w, int k, int now, uint symbol, int e)
{
    const int before = 1 - now;
#if SCHEDULING == 0
#pragma unroll
    for (int u = 0; u < BLOCK; u++, k++) {
        int best = AT(w, ROW_M(before, k - 1)) + STEP(w, k, IN_MM);
        best = higher(best, AT(w, ROW_I(before, k - 1)) + STEP(w, k, IN_IM));
        best = higher(best, AT(w, ROW_D(before, k - 1)) + STEP(w, k, IN_DM));
        best = higher(best, AT(w, PLACE_B(before)) + STEP(w, k, BEGIN));
        AT(w, ROW_M(now, k)) = CLAMP(CLAMP(best) + EMISSION(w->match, symbol, k));
        best = AT(w, ROW_M(before, k)) + STEP(w, k, MI);
        best = higher(best, AT(w, ROW_I(before, k)) + STEP(w, k, II));
        AT(w, ROW_I(now, k)) = CLAMP(CLAMP(best) + EMISSION(w->insert, symbol, k));
        best = AT(w, ROW_M(now, k - 1)) + STEP(w, k - 1, OUT_MD);
        best = higher(best, AT(w, ROW_D(now, k - 1)) + STEP(w, k - 1, OUT_DD));
        AT(w, ROW_D(now, k)) = CLAMP(best);
        e = higher(e, AT(w, ROW_M(now, k)) + STEP(w, k, END));
    }
    return e;
#else
    const int b = AT(w, PLACE_B(before));
    int m[BLOCK], i[BLOCK], d[BLOCK], from_i[BLOCK], from_d[BLOCK], extended[BLOCK];
#pragma unroll
    for (int u = 0; u < BLOCK; u++) {
        m[u] = higher(AT(w, ROW_M(before, k + u - 1)) + STEP(w, k + u, IN_MM), b + STEP(w, k + u, BEGIN));
        from_i[u] = AT(w, ROW_I(before, k + u - 1)) + STEP(w, k + u, IN_IM);
        from_d[u] = AT(w, ROW_D(before, k + u - 1)) + STEP(w, k + u, IN_DM);
        i[u] = AT(w, ROW_M(before, k + u)) + STEP(w, k + u, MI);
        extended[u] = AT(w, ROW_I(before, k + u)) + STEP(w, k + u, II);
    }
    int opens = AT(w, ROW_M(now, k - 1)), goes_on = AT(w, ROW_D(now, k - 1));
#pragma unroll
    for (int u = 0; u < BLOCK; u++) {
        m[u] = higher(m[u], higher(from_i[u], from_d[u]));
        i[u] = higher(i[u], extended[u]);
        m[u] = CLAMP(m[u]) + EMISSION(w->match, symbol, k + u);
        i[u] = CLAMP(i[u]) + EMISSION(w->insert, symbol, k + u);
        m[u] = CLAMP(m[u]);
        i[u] = CLAMP(i[u]);
    }
#pragma unroll
    for (int u = 0; u < BLOCK; u++) {
        d[u] = higher(opens + STEP(w, k + u - 1, OUT_MD), goes_on + STEP(w, k + u - 1, OUT_DD));
        goes_on = d[u] = CLAMP(d[u]);
        opens = m[u];
        e = higher(e, m[u] + STEP(w, k + u, END));
    }
#pragma unroll
    for (int u = 0; u < BLOCK; u++) {
        AT(w, ROW_M(now, k + u)) = m[u];
        AT(w, ROW_I(now, k + u)) = i[u];
        AT(w, ROW_D(now, k + u)) = d[u];
    }
    return e;
#endif
}

#undef BLOCK
#undef NODES_OF_BLOCK
