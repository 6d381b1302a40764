/* Plan7 Viterbi with the directions of the best path, for the few sequences that are hits.

   A work-item fills the matrices of one sequence row by row and writes down for every cell where its
   value came from, in HMMER2's order of tests (the first predecessor that reaches the value wins); then
   it goes back along these directions. The recurrence and the order are those of
   clalign/reference/viterbi.py and viterbi_trace.py.

   Buffers
     codes        uchar[n_residues]               letter codes, sequence after sequence
     offsets      int[n + 1]                      where each begins
     transitions  int[M][N_TRANSITIONS]
     emissions    int[N_CODES][M][2]              match, insert
     special      int[N_SPECIALS]
     rows         int[n][3][M]                    scratch: M, I, D of the row before
     cells        uchar[n_residues][M]            scratch: CELL_* of each cell
     flags        uchar[n_residues + n]           scratch: FLAG_* of each row; row 0 of a sequence included
     exits        int[n_residues + n]             scratch: the highest node (from 1) whose M leads to E
     steps        int[n_residues]                 out: STEP_* of each residue (common/plan7_traceback.h)
     possible     uchar[n]                        out: 0 where the path meets an impossible state

   Macros
     SABOTAGE   1 plants a fault, for the test of the tests

   Geometry: one work-item a sequence, any work-group size. */

#include "common/plan7_traceback.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

/* One residue: new values in m, i, d, directions in cells, the exit node; returns E. */
int trace_row(__global int *m, __global int *i, __global int *d, int n_nodes, int b, __global const int *t,
              __global const int *emission, __global uchar *cells, __global int *exit_node)
{
    int left_m = IMPOSSIBLE, left_i = IMPOSSIBLE, left_d = IMPOSSIBLE;
    int chain = IMPOSSIBLE, e = IMPOSSIBLE, best_node = 0;
    uchar chain_from = 0;
    for (int k = 0; k < n_nodes; k++, t += N_TRANSITIONS, emission += 2) {
        const int from_b = b + t[TBM], from_m = left_m + t[SABOTAGE ? TIM : TMM];
        const int from_i = left_i + t[TIM], from_d = left_d + t[TDM];
        const int v = MAX(MAX(from_b, from_m), MAX(from_i, from_d));
        uchar cell = v == from_b ? FROM_B : v == from_m ? FROM_M : v == from_i ? FROM_I : FROM_D;
        const int opened = m[k] + t[TMI], extended = i[k] + t[TII];
        if (extended > opened) cell |= CELL_I_FROM_I;
        left_m = m[k];
        left_i = i[k];
        left_d = d[k];
        const int inserted = MAX(opened, extended);
        m[k] = CLAMP(CLAMP(v) + emission[0]);
        i[k] = CLAMP(CLAMP(inserted) + emission[1]);
        d[k] = chain;
        cell |= chain_from;
        if (v <= IMPOSSIBLE || m[k] <= IMPOSSIBLE) cell |= CELL_M_IMPOSSIBLE;
        if (inserted <= IMPOSSIBLE || i[k] <= IMPOSSIBLE) cell |= CELL_I_IMPOSSIBLE;
        if (d[k] <= IMPOSSIBLE) cell |= CELL_D_IMPOSSIBLE;
        cells[k] = cell;
        if (m[k] + t[TME] >= e) {
            e = m[k] + t[TME];
            best_node = k + 1;
        }
        const int opens = m[k] + t[TMD], goes_on = chain + t[TDD];
        chain = CLAMP(MAX(opens, goes_on));
        chain_from = goes_on > opens ? CELL_D_FROM_D : 0;
    }
    *exit_node = best_node;
    return e;
}

__kernel void viterbi_trace(__global const uchar *codes, __global const int *offsets, const uint n, const int n_nodes,
                            __global const int *transitions, __global const int *emissions,
                            __constant const int *special, __global int *rows, __global uchar *cells,
                            __global uchar *flags, __global int *exits, __global int *steps,
                            __global uchar *possible)
{
    const uint row = get_global_id(0);
    if (row >= n) return;
    const int start = offsets[row], length = offsets[row + 1] - start;
    __global int *m = rows + (size_t)row * 3 * n_nodes;
    __global int *i = m + n_nodes, *d = i + n_nodes;
    for (int k = 0; k < 3 * n_nodes; k++) m[k] = IMPOSSIBLE;
    plan7_specials_t s = plan7_specials_at_start(special);
    const size_t base = (size_t)start + row;
    flags[base] = FLAGS_AT_START;
    exits[base] = 0;
    for (int x = 0; x < length; x++) {
        __global const int *emission = emissions + (size_t)codes[start + x] * n_nodes * 2;
        const int e = trace_row(m, i, d, n_nodes, s.b, transitions, emission,
                                cells + (size_t)(start + x) * n_nodes, exits + base + x + 1);
        const plan7_specials_t after = plan7_specials_after(s, e, special);
        flags[base + x + 1] = special_flags(s, after, e, special);
        s = after;
    }
    possible[row] = traceback(length, cells + (size_t)start * n_nodes, n_nodes, 1, flags + base, exits + base,
                              steps + start);
}
