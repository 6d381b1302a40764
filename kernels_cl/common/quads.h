/* Problems side by side, each on four work-items: what common/fours.h is to CPUs, for GPUs. See there what the
   names mean.

   Include common/lanes.h first; its LANES work-items are SEQUENCES = LANES / 4 problems. All of them must reach every
   UP, DOWN, total, highest and any_of. */

#pragma OPENCL FP_CONTRACT OFF

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double wide;
#else
typedef float wide;
#endif

#define SEQUENCES (LANES / 4)
#define PROBLEMS 1

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define CALL static inline __attribute__((always_inline))

typedef float reals;
typedef int masks;
typedef uchar bytes;
typedef float few;
typedef __global float *grid;
typedef __global float *slots_t;
typedef __global uchar *cells_t;
typedef __global const float *table_t;
typedef struct { table_t row[PROBLEMS]; } emission_t;
typedef union { reals v; float lane[1]; } lanes_t;

typedef struct {
    table_t steps, emissions;
    int vectors;
    uint lane;
    __local int *scratch;
} team_t;

#define NONE 0.0f
#define NEVER (-INFINITY)
#define PACK(v) (v)
#define SPREAD(f) (f)
#define TO_BYTES(v) ((uchar)(v))
#define FROM_BYTES(v) ((int)(v))
#define LANE_OF_FOUR ((float)(team->lane % 4))

#define AT(n) ((n) * LANES)
#define FEW(n) ((n) * SEQUENCES)
#define OF(u, s) ((u).lane[0])

#define WIDE_AT(row, q) ((row)[(q) * 4 + team->lane % 4])
#define STEP(q, step) (team->steps[((q) * N_STEPS + (step)) * 4 + team->lane % 4])
#define EMISSION_ROW(row) ((row) * 4)
#define EMISSION(e, q) WIDE_AT((e).row[0], q)

#define LOCAL_SCRATCH __local int scratch[LANES];
#define KERNEL_ATTRIBUTES LANE_ATTRIBUTES __attribute__((reqd_work_group_size(LANES, 1, 1)))
#define TEAM(team, steps, emissions, vectors) \
    const team_t team = {steps, emissions, vectors, get_local_id(0), scratch}
#define ITEM get_group_id(0)
#define FIRST_LANE get_local_id(0)
#define PROBLEM(s) (get_local_id(0) / 4)
#define LEADS (get_local_id(0) % 4 == 0)
#define TOGETHER barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)
#define LONGEST_OF_ALL(longest) lane_max(longest, get_local_id(0), scratch)
#define TAKE_NEXT(next) \
    ((uint)lane_max(get_local_id(0) == 0 ? (int)atomic_add(next, SEQUENCES) : 0, get_local_id(0), scratch))
#define RAW_GRID(rows, s) ((__global const float *)(rows) - get_local_id(0) % 4)
#define RAW_CELLS(rows, s) ((__global const uchar *)(rows) - get_local_id(0) % 4)
#define RAW_SLOTS(slots, s) (slots)

/* Rounded as on a CPU: the operator alone may be off by a few units in the last place. */
CALL float divide(float a, float b)
{
#if LANE_BACKEND == 1
    float r;
    asm("div.rn.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
#else
    const float q = a / b, corrected = q + fma(-q, b, a) / b;
    return isfinite(corrected) ? corrected : q;
#endif
}

#define quotient divide

/* The value of the lane whose number differs by a mask of 1 or 2. */
CALL int other_lane(const team_t *team, int v, uint mask)
{
#if LANE_BACKEND == 1
    int r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1c1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"(mask));
    return r;
#elif LANE_BACKEND == 2
    return intel_sub_group_shuffle_xor(v, mask);
#elif LANE_BACKEND == 3
    const uint wave_lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    return __builtin_amdgcn_ds_bpermute((int)((wave_lane ^ mask) << 2), v);
#else
    team->scratch[team->lane] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int r = team->scratch[team->lane ^ mask];
    barrier(CLK_LOCAL_MEM_FENCE);
    return r;
#endif
}

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
    const int near = other_lane(team, as_int(v), 1), far = other_lane(team, other_lane(team, as_int(v), 2), 1);
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
    const int near = other_lane(team, as_int(v), 1), far = other_lane(team, other_lane(team, as_int(v), 2), 1);
    return team->lane % 4 == 3 ? fill : as_float(team->lane % 2 ? far : near);
#endif
}

#define UP(v, fill) lane_before(team, v, fill)
#define DOWN(v, fill) lane_after(team, v, fill)

CALL int any_of(const team_t *team, masks v)
{
    return lane_max(v != 0, team->lane, team->scratch);
}

CALL reals total(const team_t *team, reals v)
{
    const reals pairs = v + as_float(other_lane(team, as_int(v), 1));
    return pairs + as_float(other_lane(team, as_int(pairs), 2));
}

CALL reals highest(const team_t *team, reals v)
{
    const reals near = as_float(other_lane(team, as_int(v), 1)), pairs = LARGER(v, near);
    const reals far = as_float(other_lane(team, as_int(pairs), 2));
    return LARGER(pairs, far);
}
