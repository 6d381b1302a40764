/* Problems side by side, each striped over four lanes as in clalign/reference/local_rows.py.

   The order of every sum is HMMER's, so results are equal in every bit; nothing may be contracted. With LANE_BACKEND
   work-items share a problem (common/simd4_lanes.h), else vectors hold several (common/simd4_vector.h). What is built on
   these two knows neither:

   reals, masks          numbers and truths: of a cell, or four lanes a problem
   per_problem           one number a problem: GATHER takes it from reals, BROADCAST gives it to all four lanes
   grid, cells_t         rows of reals and of bytes; VEC(n) is n vectors further on, of ROW_LANES lanes each
   row_t                 rows of a work-item's own, or in local memory those of all that work together
   ROWS_OF_TEAM(rows, n) those of this team, given the vectors that each has room for
   EACH_VECTOR(team, q)  a loop over all vectors in any order
   slots_t               numbers of rows; SLOT_AT(n) is n numbers further on, SLOT_LANES floats each, from SLOT_LANE on
   PROBLEMS              problems of a team
   team_t                what takes part in a problem
   SHIFT_UP, SHIFT_DOWN  a value of the lane before, after, `fill` where there is none
   OF_PROBLEM(u, s)      the number of problem s in u, a per_lane_t
   RAW_GRID, RAW_CELLS, RAW_SLOTS   the first lane of problem s as a plain pointer; vectors are ROW_LANES apart,
                         slots SLOT_LANES apart
   KINDS_AT_ONCE, OWN_KIND, WRITES_KIND   kinds of residues that are computed at a time, which of them this work-item
                         has, and whether it writes the result
   IS_LEADER, BARRIER    whether this work-item does what one does alone; until all have come this far

   Macros
     LANES         4, 8, 16 or 32: lanes of a vector, with LANES / 4 problems side by side; or work-items that work
                   together on one problem
     LANE_BACKEND  see common/lanes.h; not set for vectors
     SUBNORMAL     1 keeps numbers below the normal ones, which are else 0 (the build's options say so, too)

   Geometry: vectors: one work-item a core, work-groups of 1; else work-groups of LANES, as many as the device holds,
   with LANES * 4 bytes of local memory and those of the rows, unless these are in global memory. */

#pragma OPENCL FP_CONTRACT OFF

#ifndef SUBNORMAL
#define SUBNORMAL 0
#endif

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double wide;
#else
typedef float wide;
#endif

/* Transitions, in the order of their table: from B, and from M, I, D of the node before; to D of the next node, to I of
   the same. TRANS(team, q, which) is that of vector q. */
enum { BM, MM, IM, DM, MD, MI, II, DD, N_LOCAL_TRANSITIONS };

#ifdef LANE_BACKEND
#include "common/simd4_lanes.h"
#else
#include "common/simd4_vector.h"
#endif
