/* One problem on the LANES work-items of common/lanes.h: what common/simd4.h promises, for GPUs.

   A row has four lanes, as on CPUs; each work-item has every (LANES / 4)-th cell of one of them, and all have the numbers
   of the problem. All must reach every SHIFT_UP, SHIFT_DOWN, total, from_first and BARRIER.

   Macros
     ROWS_IN_GLOBAL   1 if rows do not fit local memory */

#include "common/lanes.h"
#include "common/vectors.h"

#define PROBLEMS 1
#define ROW_LANES 4

#ifndef ROWS_IN_GLOBAL
#define ROWS_IN_GLOBAL 0
#endif

typedef float reals;
typedef int masks;
typedef float per_problem;
typedef __global float *grid;
typedef __global float *slots_t;
typedef __global uchar *cells_t;
typedef __global const float *table_t;
typedef struct { table_t row[PROBLEMS]; } emission_t;
typedef union { reals v; float lane[1]; } per_lane_t;

typedef struct {
    table_t transitions, emissions;
    int vectors;
    uint lane;
    __local int *scratch;
} team_t;

#define ZEROS 0.0f
#define NEGATIVE_INFINITY (-INFINITY)
#define GATHER(v) (v)
#define BROADCAST(f) (f)

#define VEC(n) ((n) * ROW_LANES)
#define EACH_VECTOR(team, q) for (int q = (team)->lane / 4; q < (team)->vectors; q += LANES / 4)
#define IS_ONE_OF_FOUR(team) ((team)->lane < 4)

#if ROWS_IN_GLOBAL
typedef __global float *row_t;
#define ROWS_OF_TEAM(rows, n) ((rows) + (size_t)TEAM_NUMBER * VEC(n) + FIRST_LANE)
#else
typedef __local float *row_t;
#define ROWS_OF_TEAM(rows, n) ((rows) + FIRST_LANE)
#endif

/* Each work-item keeps the numbers of the problem for itself: they are changed in place, and work-items need not run in
   step. */
#define SLOT_LANES LANES
#define SLOT_LANE get_local_id(0)
#define SLOT_AT(n) ((n) * SLOT_LANES)
#define OF_PROBLEM(u, s) ((u).lane[0])

#define NODES_OF(team, row, q) ((row)[(q) * 4 + (team)->lane % 4])
#define TRANS(team, q, which) ((team)->transitions[((q) * N_LOCAL_TRANSITIONS + (which)) * 4 + (team)->lane % 4])
#define TABLE_ROW(row) ((row) * 4)
#define EMISSION_OF(team, e, q) NODES_OF(team, (e).row[0], q)

#define KERNEL_ATTRIBUTES LANE_ATTRIBUTES __attribute__((reqd_work_group_size(LANES, 1, 1)))
#define DECLARE_TEAM(team)             \
    __local int team##_scratch[LANES]; \
    team_t team = {0, 0, 0, get_local_id(0), team##_scratch}
#define TEAM_NUMBER get_group_id(0)
#define FIRST_LANE (get_local_id(0) % 4)
#define IS_LEADER (get_local_id(0) == 0)
#define KINDS_AT_ONCE (LANES / 4)
#define OWN_KIND ((int)get_local_id(0) / 4)
#define WRITES_KIND (get_local_id(0) % 4 == 0)
#define BARRIER barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)
#define TAKE_NEXT(team, next) \
    ((uint)lane_max((team)->lane == 0 ? (int)atomic_add(next, PROBLEMS) : 0, (team)->lane, (team)->scratch))
#define RAW_GRID(rows, s) ((__global const float *)(rows) - get_local_id(0) % 4)
#define RAW_CELLS(rows, s) ((__global const uchar *)(rows) - get_local_id(0) % 4)
#define RAW_SLOTS(slots, s) (slots)

#if SUBNORMAL
#define DIVIDE "div.rn.f32"
#else
#define DIVIDE "div.rn.ftz.f32"
#endif

/* Rounded as on a CPU: the operator alone may be off by a few units in the last place. */
CALL float divide(float a, float b)
{
#if LANE_BACKEND == 1
    float r;
    asm(DIVIDE " %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
#else
    const float q = a / b, corrected = q + fma(-q, b, a) / b;
    return isfinite(corrected) ? corrected : q;
#endif
}

#define quotient divide

/* The value of the lane whose number differs by a mask of 1 or 2. */
#define OTHER_LANE(team, v, mask) shuffle_xor(v, mask, (team)->lane, (team)->scratch)

/* The value of the lane before or after among the four of a problem, `fill` where there is none. */
CALL float lane_before(const team_t *team, float v, float fill)
{
#if LANE_BACKEND == 1
    int r;
    asm volatile("{ .reg .pred inside;\n"
                 "shfl.sync.up.b32 %0|inside, %1, 1, 0x1c00, 0xffffffff;\n"
                 "@!inside mov.b32 %0, %2; }" : "=&r"(r) : "r"(as_int(v)), "r"(as_int(fill)));
    return as_float(r);
#else
    const int near = OTHER_LANE(team, as_int(v), 1), far = OTHER_LANE(team, OTHER_LANE(team, as_int(v), 2), 1);
    return team->lane % 4 == 0 ? fill : as_float(team->lane % 2 ? near : far);
#endif
}

CALL float lane_after(const team_t *team, float v, float fill)
{
#if LANE_BACKEND == 1
    int r;
    asm volatile("{ .reg .pred inside;\n"
                 "shfl.sync.down.b32 %0|inside, %1, 1, 0x1c1f, 0xffffffff;\n"
                 "@!inside mov.b32 %0, %2; }" : "=&r"(r) : "r"(as_int(v)), "r"(as_int(fill)));
    return as_float(r);
#else
    const int near = OTHER_LANE(team, as_int(v), 1), far = OTHER_LANE(team, OTHER_LANE(team, as_int(v), 2), 1);
    return team->lane % 4 == 3 ? fill : as_float(team->lane % 2 ? far : near);
#endif
}

#define SHIFT_UP(team, v, fill) lane_before(team, v, fill)
#define SHIFT_DOWN(team, v, fill) lane_after(team, v, fill)

/* Whether it is true of the problem: all have the same answer. */
CALL int any_of(const team_t *team, masks v)
{
    return v;
}

/* The number that the first work-item has. */
CALL float from_first(const team_t *team, float v)
{
    return as_float(lane_max(team->lane == 0 ? as_int(v) : INT_MIN, team->lane, team->scratch));
}

CALL reals total(const team_t *team, reals v)
{
    const reals pairs = v + as_float(OTHER_LANE(team, as_int(v), 1));
    return pairs + as_float(OTHER_LANE(team, as_int(pairs), 2));
}
