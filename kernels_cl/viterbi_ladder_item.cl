/* Plan7 Viterbi, HMMER2's integer scores, exact: the laboratory of one work-item a sequence.

   Every rung of the published ladder is this one source with other choices: independent macros, all of
   which may be combined. It is here to be measured, not to be fast: searches use viterbi_lanes.cl,
   viterbi_item.cl and viterbi_vector.cl. The recurrence is that of clalign/reference/viterbi.py.

   Buffers
     residues     uchar or uint                        symbols (letters numbered from 0), see SEQUENCES
     starts       int                                  SEQUENCES 0: [n] where each sequence begins;
                                                       1, 2: [longest] where each residue or word begins: the
                                                       sequences are sorted by falling length
     lengths      int[n]
     transitions  int[NODES + 1][N_TRANSITIONS]        node 0 is impossible
     match        int[NODES][SYMBOLS] or [SYMBOLS][NODE_STRIDE], see EMISSIONS
     insert       the same
     special      int[N_SPECIALS] or [N_SPECIALS][n], see SPECIALS
     rows         int[n][N_STATE_SLOTS] or [N_STATE_SLOTS][stride], see ROWS; not touched if they are private
     rows_done    int[items], in: 0 or rows            see FIRST_ROW
     scores       int[n]                               out: 1/1000 bit

   Macros
     FINE        1: one node of one row a launch
     FIRST_ROW   where a launch learns how many rows are done: 0 from the argument first_row, 1 from the first number
                 of rows_done, 2 from a number for each work-item, 3 from one for each work-group; of 2, 3 it counts on
     and those of common/viterbi_ladder.h

   Geometry: one work-item a sequence, work-groups of GROUP. A launch does the rows from first_row (counted
   from 1) to last_row, or as many from FIRST_ROW on; with FINE the one row first_row, and of that only the given node (else node is 0). */

#include "common/viterbi_ladder.h"

#if UNROLL > 1
#define BLOCK UNROLL
#define NODES_OF_BLOCK several_nodes
#include "common/viterbi_ladder_nodes.h"
#endif
#include "common/viterbi_ladder_nodes.h"

#ifndef FINE
#define FINE 0
#endif
#ifndef FIRST_ROW
#define FIRST_ROW 0
#endif

/* The row i (from 1); n_nodes is NODES, but not known to the compiler, which would unroll on its own. */
void fill_row(const work_t *w, int i, uint symbol, int n_nodes)
{
    int k = 1, e = IMPOSSIBLE + IMPOSSIBLE;
#if UNROLL > 1
#pragma unroll 1
    for (; k <= n_nodes - UNROLL + 1; k += UNROLL) e = several_nodes(w, k, i & 1, symbol, e);
#endif
#pragma unroll 1
    for (; k <= n_nodes; k++) e = one_node(w, k, i & 1, symbol, e);
    close_row(w, i, e);
}

/* One node of the row i; E waits in memory for the launches of the nodes after it. */
void fill_node(const work_t *w, int i, uint symbol, int n_nodes, int k)
{
    const int before = k == 1 ? IMPOSSIBLE + IMPOSSIBLE : STATE_AT(w, PLACE_E);
    const int e = one_node(w, k, i & 1, symbol, before);
    if (k < n_nodes)
        STATE_AT(w, PLACE_E) = e;
    else
        close_row(w, i, e);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void viterbi_score(__global const RESIDUES *residues, __global const int *starts, __global const int *lengths,
                   const uint n, TRANSITIONS_GIVEN const int *transitions, __global const int *match,
                   __global const int *insert, SPECIALS_GIVEN const int *special, __global int *rows, const uint stride,
                   const int n_nodes, const int first_given, const int last_given, const int node,
                   __global int *rows_done, __global int *scores)
{
    const uint item = get_global_id(0), own = get_local_id(0);
    const int n_rows = last_given - first_given + 1;
#if FIRST_ROW == 0
    const int first_row = first_given;
#elif FIRST_ROW == 1
    const int first_row = rows_done[0] + 1;
#elif FIRST_ROW == 2
    const int first_row = rows_done[item] + 1;
    rows_done[item] += n_rows;
#else
    const int first_row = rows_done[get_group_id(0)] + 1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (own == 0) rows_done[get_group_id(0)] += n_rows;
#endif
    const int last_row = first_row + n_rows - 1;
    work_t w = { 0, 0, 0, 0, 0, residues, starts, item, n, stride };
#if TRANSITIONS == 2
    __local int local_transitions[(NODES + 1) * N_TRANSITIONS];
    for (uint x = own; x < (NODES + 1) * N_TRANSITIONS; x += GROUP) local_transitions[x] = transitions[x];
    w.transitions = local_transitions;
#else
    w.transitions = transitions;
#endif
#if EMISSIONS == 2
    __local int local_emissions[2][SYMBOLS * NODE_STRIDE];
    for (uint x = own; x < SYMBOLS * NODE_STRIDE; x += GROUP) {
        local_emissions[0][x] = match[x];
        local_emissions[1][x] = insert[x];
    }
    w.match = local_emissions[0];
    w.insert = local_emissions[1];
#else
    w.match = match;
    w.insert = insert;
#endif
#if SPECIALS == 1
    __local int local_special[N_WARPS * N_SPECIALS];
    for (uint x = own; x < N_WARPS * N_SPECIALS; x += GROUP) local_special[x] = special[x % N_SPECIALS];
    w.special = local_special + own / WARP * N_SPECIALS;
#else
    w.special = SPECIALS == 2 ? special + item : special;
#endif
#if TRANSITIONS == 2 || EMISSIONS == 2 || SPECIALS == 1
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    if (item >= n || (first_row > 1 && first_row > lengths[item])) return;
#if ROWS == 2
    int private_rows[N_STATE_SLOTS];
    w.state = private_rows;
#else
    w.state = rows + (ROWS == 1 ? (size_t)item : (size_t)item * N_STATE_SLOTS);
#endif
    if (first_row == 1 && node <= 1) open_state(&w);
    const int last = lengths[item] < last_row ? lengths[item] : last_row;
    uint word = 0;
    for (int i = first_row; i <= last; i++) {
        const uint symbol = residue(&w, i - 1, first_row - 1, &word);
#if FINE
        fill_node(&w, i, symbol, n_nodes, node);
#else
        fill_row(&w, i, symbol, n_nodes);
#endif
    }
    if (last == lengths[item]) scores[item] = STATE_AT(&w, PLACE_C(last & 1)) + SPECIAL_AT(&w, C_MOVE);
}
