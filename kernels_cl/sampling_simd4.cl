/* Random tracebacks through regions (clalign/reference/sampling.py), and the envelopes that they show.

   Buffers
     codes       uchar[n_residues]               letter codes, sequence after sequence
     parts       int[n][3]                       each region: its first code, its length, that of its target
     order       int[n]                          the regions as they are taken, like beside like; -1 for none
     residue_at  int[n]                          where the null2 factors of each begin
     states      uint[n]                         first state of the random numbers
     transitions float[Q][N_LOCAL_TRANSITIONS][4]   see common/local_rows.h
     emissions   float[N_CODES][Q][4]
     node_sums   float[M + 1][N_CODES]           ratios of all letters, summed over the nodes up to each
     next        uint[1]                         in: 0; the next region to be taken
     matrix      float[n items][3][longest + 1][Q][LANES]   scratch: M, I, D
     slots       float[n items][longest + 1][N_SLOTS][SLOT_LANES]   scratch, see common/local_rows.h
     columns     int[n items][TEAM_PROBLEMS][N_COLUMNS][most]   scratch: segments, see common/sampling_clusters.h
     tallies     int[n items][TEAM_PROBLEMS][max(longest, M) + 1]   scratch
     factors     float[]                         out: sums over the samples of the ratios of each residue
     counts      int[n][2]                       out: segments, and envelopes; none of these if those are more than
                                                 `most`
     envelopes   int[n][most / LEAST_SAMPLES][3]   out: first residue, one past the last (from the region's), samples

   Macros
     LANES, LANE_BACKEND   see common/simd4.h
     SABOTAGE              1 plants a fault, for the test of the tests

   Geometry: see common/simd4.h; teams take their problems from a counter and run as far as the longest of them. */

#include "common/local_rows.h"
#include "common/sampling_clusters.h"
#include "common/sampling_paths.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

__kernel KERNEL_ATTRIBUTES
void sampling(__global const uchar *codes, __global const int *parts, __global const int *order, const uint n,
            __global const int *residue_at, __global const uint *states, const int vectors, const int n_nodes,
            const int longest, const int most, table_t transitions, table_t emissions, __global const float *node_sums,
            __global uint *next, grid matrix, slots_t slots, __global int *columns, __global int *tallies,
            __global float *factors, __global int *counts, __global int *envelopes)
{
    DECLARE_TEAM(team, transitions, emissions, vectors);
    const size_t n_cells = VEC((size_t)(longest + 1) * vectors);
    grid m = matrix + TEAM_NUMBER * 3 * n_cells + FIRST_LANE, i = m + n_cells, d = i + n_cells;
    slots += TEAM_NUMBER * SLOT_AT((longest + 1) * N_SLOTS) + FIRST_LANE;
    columns += (TEAM_NUMBER * TEAM_PROBLEMS + PROBLEM(0)) * N_COLUMNS * most;
    tallies += (TEAM_NUMBER * TEAM_PROBLEMS + PROBLEM(0)) * (LARGER(longest, n_nodes) + 1);
    for (uint first = TAKE_NEXT(&team, next); first < n; first = TAKE_NEXT(&team, next)) {
        targets_t t;
        int whole[PROBLEMS];
        for (int s = 0; s < PROBLEMS; s++) {
            const int place = first + PROBLEM(s) < n ? order[first + PROBLEM(s)] : -1;
            __global const int *part = parts + 3 * (place < 0 ? 0 : place);
            whole[s] = part[2];
            place_target(&t, s, place, place < 0 ? 0 : part[1], codes + part[0]);
        }
        t.longest = LONGEST_OF_ALL(&team, t.longest);
        const length_model_t ends = length_model_for(whole, 0);
        forward_targets(&team, &t, m, i, d, vectors, vectors, slots, &ends);
        per_lane_t move, loop;
        move.v = ends.move;
        loop.v = ends.loop;
        BARRIER;
        for (int s = 0; s < PROBLEMS; s++) {
            const int place = t.place[s];
            if (place < 0 || !IS_LEADER) continue;
            region_t r = {RAW_GRID(m, s), RAW_GRID(i, s), RAW_GRID(d, s), RAW_SLOTS(slots, s),
                          (__global const float *)transitions, node_sums, t.codes[s], factors + residue_at[place],
                          columns, most, 0, vectors, t.length[s], OF_PROBLEM(move, s), OF_PROBLEM(loop, s),
                          states[place]};
            __global int *found = envelopes + 3 * place * (most / LEAST_SAMPLES);
            draw_paths(&r);
            counts[2 * place] = r.n_segments;
            counts[2 * place + 1] = r.n_segments > most ? 0
                : drop_dominated(found, find_envelopes(columns, most, r.n_segments, tallies, t.length[s], n_nodes,
                                                       found));
        }
        BARRIER;
    }
}
