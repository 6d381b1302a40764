/* Operations across the lanes that share one sequence: the only place that knows vendors.

   LANE_BACKEND  0 local memory and barriers (any device; one group of lanes a work-group)
                 1 NVIDIA: shfl.sync (LANES 32, 16 or 8)
                 2 Intel: cl_intel_subgroups (LANES 16, the required sub-group size)
                 3 AMD: ds_bpermute (LANES 32, 16 or 8)

   lane_up(v, d, fill, lane, scratch)   value of the lane d below, `fill` for the lanes below d
   lane_max(v, lane, scratch)           maximum over the lanes, the same in all of them
   lane_any(v, lane, scratch)           whether v is not 0 in any of them
   crew_min(v)                          minimum over the crew: all work-items that run in step, with backends 1
                                        and 3 those of several groups of lanes, otherwise those of one

   `scratch` is local memory of LANES ints; only backend 0 touches it. With backend 0 every work-item of the
   group must reach each call, and so must, with backend 1, all of the crew: where its groups go different
   ways, let crew_min decide how far they go together. In `crew_min` v must be the same in a group's lanes. */

#ifndef LANE_BACKEND
#define LANE_BACKEND 0
#endif
#ifndef LANES
#define LANES 32
#endif

#if LANE_BACKEND == 1

/* The last operand of shuffles that stay within LANES of the 32. */
#define SEGMENT ((32 - LANES) << 8)

/* The fill is chosen by the instruction's own predicate: a branch on the lane in C may be merged with
   the next one, and the compiler would then put copies of the shuffle on both sides, which deadlock. */
int lane_up(int v, uint d, int fill, uint lane, __local int *scratch)
{
    int r;
    asm volatile("{ .reg .pred inside;\n"
                 "shfl.sync.up.b32 %0|inside, %1, %2, %4, 0xffffffff;\n"
                 "@!inside mov.b32 %0, %3; }" : "=&r"(r) : "r"(v), "r"(d), "r"(fill), "r"(SEGMENT));
    return r;
}

int lane_max(int v, uint lane, __local int *scratch)
{
    int r;
#if LANES == 32 && COMPUTE_CAPABILITY >= 80
    asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(v));
    return r;
#else
    for (uint d = LANES / 2; d > 0; d >>= 1) {
        asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d));
        v = v > r ? v : r;
    }
    return v;
#endif
}

int lane_any(int v, uint lane, __local int *scratch)
{
#if LANES == 32
    int r;
    asm volatile("{ .reg .pred is;\n"
                 "setp.ne.s32 is, %1, 0;\n"
                 "vote.sync.any.pred is, is, 0xffffffff;\n"
                 "selp.s32 %0, 1, 0, is; }" : "=r"(r) : "r"(v));
    return r;
#else
    return lane_max(v != 0, lane, scratch);
#endif
}

int crew_min(int v)
{
    int r;
#if LANES == 32
    return v;
#elif COMPUTE_CAPABILITY >= 80
    asm volatile("redux.sync.min.s32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(v));
    return r;
#else
    for (uint d = 16; d >= LANES; d >>= 1) {
        asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d));
        v = v < r ? v : r;
    }
    return v;
#endif
}

#define LANE_ATTRIBUTES

#elif LANE_BACKEND == 2

#pragma OPENCL EXTENSION cl_intel_subgroups : enable

int lane_up(int v, uint d, int fill, uint lane, __local int *scratch)
{
    return intel_sub_group_shuffle_up(fill, v, d);
}

int lane_max(int v, uint lane, __local int *scratch)
{
    return sub_group_reduce_max(v);
}

int lane_any(int v, uint lane, __local int *scratch)
{
    return sub_group_any(v);
}

int crew_min(int v)
{
    return v;
}

#define LANE_ATTRIBUTES __attribute__((intel_reqd_sub_group_size(LANES)))

#elif LANE_BACKEND == 3

int lane_up(int v, uint d, int fill, uint lane, __local int *scratch)
{
    const uint wave_lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    const int r = __builtin_amdgcn_ds_bpermute((int)((wave_lane - d) << 2), v);
    return lane < d ? fill : r;
}

int lane_max(int v, uint lane, __local int *scratch)
{
    const uint wave_lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    for (uint d = LANES / 2; d > 0; d >>= 1) {
        const int r = __builtin_amdgcn_ds_bpermute((int)((wave_lane ^ d) << 2), v);
        v = v > r ? v : r;
    }
    return v;
}

int lane_any(int v, uint lane, __local int *scratch)
{
    return lane_max(v != 0, lane, scratch);
}

/* In a wavefront of 32 the lane 32 away is the same one. */
int crew_min(int v)
{
    const uint wave_lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    for (uint d = 32; d >= LANES; d >>= 1) {
        const int r = __builtin_amdgcn_ds_bpermute((int)((wave_lane ^ d) << 2), v);
        v = v < r ? v : r;
    }
    return v;
}

#define LANE_ATTRIBUTES

#else

int lane_up(int v, uint d, int fill, uint lane, __local int *scratch)
{
    scratch[lane] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int r = lane < d ? fill : scratch[lane - d];
    barrier(CLK_LOCAL_MEM_FENCE);
    return r;
}

int lane_max(int v, uint lane, __local int *scratch)
{
    for (uint d = LANES / 2; d > 0; d >>= 1) {
        scratch[lane] = v;
        barrier(CLK_LOCAL_MEM_FENCE);
        const int r = scratch[lane ^ d];
        barrier(CLK_LOCAL_MEM_FENCE);
        v = v > r ? v : r;
    }
    return v;
}

int lane_any(int v, uint lane, __local int *scratch)
{
    return lane_max(v != 0, lane, scratch);
}

int crew_min(int v)
{
    return v;
}

#define LANE_ATTRIBUTES

#endif
