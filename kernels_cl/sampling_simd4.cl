/* Random tracebacks through regions (clalign/reference/sampling.py), and the envelopes that they show.

   Buffers
     codes       uchar[n_residues]               letter codes, sequence after sequence
     parts       int[n][3]                       each region: its first code, its length, that of its target
     order       int[n]                          the regions as they are taken, like beside like; -1 for none; a team
                                                 takes such of one model, at least one
     residue_at  int[n]                          where the null2 factors of each begin
     states      uint[n]                         first state of the random numbers
     model_of    int[]                           the model of each region
     models, transitions, emissions              see common/local_model.h
     ratios      float[][4 * N_KINDS]            of each model as many rows as vectors: emissions once more, of its four
                                                 lanes those of the first 16 residues, then those of the others
     residues    uchar[N_KINDS]                  letter codes of these residues
     members     uint[N_CODES]                   the residues that each letter may stand for: bits by their letter codes
     next        uint[1]                         in: 0; the next region to be taken
     rows        float[n teams][row_room][ROW_LANES]   scratch: of work-items, two rows in turn, in local memory
     matrix      float[n teams][3][room][ROW_LANES]   scratch: M, I, D of all rows
     slots       float[n teams][longest + 1][N_SLOTS][SLOT_LANES]   scratch, see common/local_rows.h
     columns     int[n teams][PROBLEMS][N_COLUMNS][most]   scratch: segments, see common/sampling_clusters.h
     tallies     int[n teams][PROBLEMS][n_tallies]   scratch, for each residue or each lane of the vectors, and one more
     factors     float[]                         out: sums over the samples of the ratios of each residue
     counts      int[n][2]                       out: segments, and envelopes; none of these if those are more than
                                                 `most`, -1 if the order of clusters decides
     envelopes   int[n][most / MIN_SAMPLES][3]   out: first residue, one past the last (from the region's), samples

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
            __global const int *residue_at, __global const uint *states, __global const int *model_of,
            __global const int *models, table_t transitions, table_t emissions, __global const float *ratios,
            __global const uchar *residues, __global const uint *members, const ulong room, const int longest,
            const int n_tallies, const int most, __global uint *next, row_t rows, const int row_room,
            grid matrix, slots_t slots,
            __global int *columns, __global int *tallies, __global float *factors, __global int *counts,
            __global int *envelopes)
{
    DECLARE_TEAM(team);
    grid m = matrix + TEAM_NUMBER * VEC(3 * room) + FIRST_LANE;
    slots += TEAM_NUMBER * SLOT_AT((longest + 1) * N_SLOTS) + SLOT_LANE;
    columns += (TEAM_NUMBER * PROBLEMS) * N_COLUMNS * most;
    tallies += (TEAM_NUMBER * PROBLEMS) * n_tallies;
    for (uint first = TAKE_NEXT(&team, next); first < n; first = TAKE_NEXT(&team, next)) {
        targets_t t;
        __global const int *model = models + N_MODEL_NUMBERS * model_of[order[first]];
        take_model(&team, model, transitions, emissions);
        int whole[PROBLEMS];
        for (int s = 0; s < PROBLEMS; s++) {
            const int place = first + s < n ? order[first + s] : -1;
            __global const int *part = parts + 3 * (place < 0 ? 0 : place);
            whole[s] = part[2];
            place_target(&t, s, place, place < 0 ? 0 : part[1], codes + part[0]);
        }
        const length_model_t ends = length_model_for(whole, 0);
        const size_t n_cells = VEC((size_t)(t.longest + 1) * team.vectors);
        grid i = m + n_cells, d = i + n_cells;
        forward_targets(&team, &t, ROWS_OF_TEAM(rows, row_room), m, i, d, team.vectors, team.vectors, slots,
                        &ends);
        per_lane_t move, loop;
        move.v = ends.move;
        loop.v = ends.loop;
        BARRIER;
        for (int s = 0; s < PROBLEMS; s++) {
            const int place = t.place[s];
            if (place < 0 || !IS_LEADER) continue;
            region_t r = {RAW_GRID(m, s), RAW_GRID(i, s), RAW_GRID(d, s), RAW_SLOTS(slots, s),
                          (__global const float *)team.transitions,
                          ratios + (size_t)model[VECTORS_BEFORE] * 4 * N_KINDS, members, t.codes[s], residues,
                          factors + residue_at[place], columns, tallies, most, 0, team.vectors, t.length[s], 0,
                          OF_PROBLEM(move, s), OF_PROBLEM(loop, s), states[place]};
            __global int *found = envelopes + 3 * place * (most / MIN_SAMPLES);
            draw_paths(&r);
            counts[2 * place] = r.n_segments;
            counts[2 * place + 1] = r.n_segments > most ? 0
                : drop_dominated(found, find_envelopes(columns, most, r.n_segments, tallies, t.length[s],
                                                       model[MODEL_NODES], found));
        }
        BARRIER;
    }
}
