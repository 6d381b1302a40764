/* Problems side by side in a vector, each striped over four lanes as in clalign/reference/local_rows.py: for CPUs.

   What common/simd4.h promises, with vectors of LANES: 4, 8, 16 or 32, PROBLEMS = LANES / 4 problems a work-item.

   Layouts with Q vectors a row: node k (from 1) of problem s is in lane 4 s + (k - 1) / Q of vector (k - 1) % Q.

   Only operators and ?: are used on vectors: some CPU drivers have wrong or slow built-ins for them. */

#include "common/vectors.h"

#ifndef LANES
#define LANES 8
#endif
#define PROBLEMS (LANES / 4)

#if LANES == 4
typedef float4 reals;
typedef int4 masks;
typedef uchar4 bytes;
typedef float per_problem;
#define SHIFT_UP(team, v, fill) ((float4)(fill, (v).s012))
#define SHIFT_DOWN(team, v, fill) ((float4)((v).s123, fill))
#define NEXT_OF_FOUR(v) ((v).s1230)
#define FIRST_OF_FOUR(v) ((v).s0000)
#define THIRD_OF_FOUR(v) ((v).s2222)
#define GATHER(v) ((v).s0)
#define BROADCAST(f) ((float4)(f))
#define FOUR_TO_ALL(v) (v)
#define LANE_OF_FOUR(team) ((float4)(0, 1, 2, 3))
#elif LANES == 8
typedef float8 reals;
typedef int8 masks;
typedef uchar8 bytes;
typedef float2 per_problem;
#define SHIFT_UP(team, v, fill) ((float8)(fill, (v).s012, fill, (v).s456))
#define SHIFT_DOWN(team, v, fill) ((float8)((v).s123, fill, (v).s567, fill))
#define NEXT_OF_FOUR(v) ((v).s12305674)
#define FIRST_OF_FOUR(v) ((v).s00004444)
#define THIRD_OF_FOUR(v) ((v).s22226666)
#define GATHER(v) ((v).s04)
#define BROADCAST(f) ((f).s00001111)
#define FOUR_TO_ALL(v) ((float8)(v, v))
#define LANE_OF_FOUR(team) ((float8)(0, 1, 2, 3, 0, 1, 2, 3))
#elif LANES == 32
typedef float reals __attribute__((ext_vector_type(32)));
typedef int masks __attribute__((ext_vector_type(32)));
typedef uchar bytes __attribute__((ext_vector_type(32)));
typedef float8 per_problem;
/* The same four places of each problem; 32 and more are those of the second vector. */
#define IN_EACH(a, b, c, d) a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, c + 12, \
    d + 12, a + 16, b + 16, c + 16, d + 16, a + 20, b + 20, c + 20, d + 20, a + 24, b + 24, c + 24, d + 24, a + 28, \
    b + 28, c + 28, d + 28
#define TAKE(v, w, ...) __builtin_astype(__builtin_shufflevector(v, w, IN_EACH(__VA_ARGS__)), reals)
#define SHIFT_UP(team, v, fill) TAKE(v, (reals)(fill), 32, 0, 1, 2)
#define SHIFT_DOWN(team, v, fill) TAKE(v, (reals)(fill), 1, 2, 3, 32)
#define NEXT_OF_FOUR(v) TAKE(v, v, 1, 2, 3, 0)
#define FIRST_OF_FOUR(v) TAKE(v, v, 0, 0, 0, 0)
#define THIRD_OF_FOUR(v) TAKE(v, v, 2, 2, 2, 2)
#define GATHER(v) ((float8)((v)[0], (v)[4], (v)[8], (v)[12], (v)[16], (v)[20], (v)[24], (v)[28]))
#define BROADCAST(f) ((reals)((f).s00001111, (f).s22223333, (f).s44445555, (f).s66667777))
#define FOUR_TO_ALL(v) ((reals)(v, v, v, v, v, v, v, v))
#define LANE_OF_FOUR(team) FOUR_TO_ALL((float4)(0, 1, 2, 3))
#else
typedef float16 reals;
typedef int16 masks;
typedef uchar16 bytes;
typedef float4 per_problem;
#define SHIFT_UP(team, v, fill) ((float16)(fill, (v).s012, fill, (v).s456, fill, (v).s89a, fill, (v).scde))
#define SHIFT_DOWN(team, v, fill) ((float16)((v).s123, fill, (v).s567, fill, (v).s9ab, fill, (v).sdef, fill))
#define NEXT_OF_FOUR(v) ((v).s123056749ab8defc)
#define FIRST_OF_FOUR(v) ((v).s000044448888cccc)
#define THIRD_OF_FOUR(v) ((v).s22226666aaaaeeee)
#define GATHER(v) ((v).s048c)
#define BROADCAST(f) ((f).s0000111122223333)
#define FOUR_TO_ALL(v) ((float16)(v, v, v, v))
#define LANE_OF_FOUR(team) ((float16)(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3))
#endif

/* Not the built-in functions: some CPU drivers have wrong ones for vectors of 16. */
#define TO_BYTES(v) __builtin_convertvector(v, bytes)
#define FROM_BYTES(v) __builtin_convertvector(v, masks)

typedef __global reals *grid;
typedef __global per_problem *slots_t;
typedef __global const float4 *table_t;

/* The rows of a table of emissions, one for each problem. */
typedef struct { table_t row[PROBLEMS]; } emission_t;

#define ZEROS ((reals)(0.0f))
#define NEGATIVE_INFINITY ((reals)(-INFINITY))

#if LANES == 4
#define EMISSION_OF(team, e, q) ((e).row[0][q])
#elif LANES == 8
#define EMISSION_OF(team, e, q) ((reals)((e).row[0][q], (e).row[1][q]))
#elif LANES == 32
#define EMISSION_OF(team, e, q) ((reals)((e).row[0][q], (e).row[1][q], (e).row[2][q], (e).row[3][q], \
                                         (e).row[4][q], (e).row[5][q], (e).row[6][q], (e).row[7][q]))
#else
#define EMISSION_OF(team, e, q) ((reals)((e).row[0][q], (e).row[1][q], (e).row[2][q], (e).row[3][q]))
#endif

#define NODES_OF(team, row, q) FOUR_TO_ALL((row)[q])
#define TRANS(team, q, which) FOUR_TO_ALL((team)->transitions[(q) * N_LOCAL_TRANSITIONS + (which)])
#define TABLE_ROW(row) (row)

#define VEC(n) (n)
#define ROW_LANES LANES
#define EACH_VECTOR(team, q) for (int q = 0; q < (team)->vectors; q++)
#define ROWS_OF_TEAM(rows, n) ((rows) + TEAM_NUMBER * (n))
typedef grid row_t;
#define SLOT_LANES PROBLEMS
#define SLOT_LANE 0
#define SLOT_AT(n) (n)

typedef __global bytes *cells_t;
typedef union { reals v; float lane[LANES]; } per_lane_t;
#define OF_PROBLEM(u, s) ((u).lane[4 * (s)])

typedef struct { table_t transitions, emissions; int vectors; } team_t;

#define KERNEL_ATTRIBUTES
#define DECLARE_TEAM(team) team_t team
#define TEAM_NUMBER get_global_id(0)
#define FIRST_LANE 0
#define IS_LEADER 1
#define KINDS_AT_ONCE 1
#define OWN_KIND 0
#define WRITES_KIND 1
#define BARRIER
#define TAKE_NEXT(team, next) atomic_add(next, PROBLEMS)
#define RAW_GRID(rows, s) ((__global const float *)(rows) + 4 * (s))
#define RAW_CELLS(rows, s) ((__global const uchar *)(rows) + 4 * (s))
#define RAW_SLOTS(slots, s) ((__global float *)(slots) + (s))

CALL float divide(float a, float b)
{
    return a / b;
}

CALL reals quotient(reals a, reals b)
{
    return a / b;
}

/* Whether any lane is true. */
CALL int any_of(const team_t *team, masks v)
{
    union { masks v; ulong part[LANES / 2]; } u;
    u.v = v;
    ulong any = u.part[0];
#pragma unroll
    for (int n = 1; n < LANES / 2; n++) any |= u.part[n];
    return any != 0;
}

/* The sum over the four lanes of each problem, and the highest of them, in all of them. */
CALL reals total(const team_t *team, reals v)
{
    const reals pairs = v + NEXT_OF_FOUR(v);
    return FIRST_OF_FOUR(pairs) + THIRD_OF_FOUR(pairs);
}

CALL reals highest(const team_t *team, reals v)
{
    const reals pairs = LARGER(v, NEXT_OF_FOUR(v));
    return LARGER(FIRST_OF_FOUR(pairs), THIRD_OF_FOUR(pairs));
}
