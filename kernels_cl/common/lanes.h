/* Operations across the lanes that share one sequence: the only place that knows vendors.

   LANE_BACKEND  0 local memory and barriers (any device; one group of lanes a work-group)
                 1 NVIDIA: shfl.sync (LANES 32, 16 or 8)
                 2 Intel: cl_intel_subgroups (LANES 16, the required sub-group size)
                 3 AMD: ds_bpermute (LANES 32, 16 or 8)

   shuffle_up(v, d, fill, lane, scratch)   value of the lane d below, `fill` for the lanes below d
   shuffle_xor(v, mask, lane, scratch)     value of the lane whose number differs by the mask
   lane_max(v, lane, scratch)              maximum over the lanes, the same in all of them
   lane_any(v, lane, scratch)              whether v is not 0 in any of them
   shuffle_up_float, lane_sum              the same of floats, with 0 for the lanes below; sum over the lanes
   subgroup_min(v)                         minimum over the sub-group: all work-items that run in step, with backends 1
                                           and 3 those of several groups of lanes, otherwise those of one

   `scratch` is local memory of LANES ints; only backend 0 touches it. With backend 0 every work-item of the
   group must reach each call, and so must, with backend 1, all of the sub-group: where its groups go different
   ways, let subgroup_min decide how far they go together. In `subgroup_min` v must be the same in a group's lanes. */

#ifndef LANE_BACKEND
#define LANE_BACKEND 0
#endif
#ifndef LANES
#define LANES 32
#endif
#ifndef COMPUTE_CAPABILITY
#define COMPUTE_CAPABILITY 0
#endif

#if LANE_BACKEND == 2
#define LANE_ATTRIBUTES __attribute__((intel_reqd_sub_group_size(LANES)))
#else
#define LANE_ATTRIBUTES
#endif

#if LANE_BACKEND == 1

#define SUBGROUP 32

/* The last operand of shuffles that stay within LANES of the 32. */
#define LANE_SEGMENT ((32 - LANES) << 8)

/* The fill is chosen by the instruction's own predicate: a branch on the lane in C may be merged with
   the next one, and the compiler would then put copies of the shuffle on both sides, which deadlock. */
int shuffle_up(int v, uint d, int fill, uint lane, __local int *scratch)
{
    int r;
    asm volatile("{ .reg .pred inside;\n"
                 "shfl.sync.up.b32 %0|inside, %1, %2, %4, 0xffffffff;\n"
                 "@!inside mov.b32 %0, %3; }" : "=&r"(r) : "r"(v), "r"(d), "r"(fill), "r"(LANE_SEGMENT));
    return r;
}

int shuffle_xor(int v, uint mask, uint lane, __local int *scratch)
{
    int r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"(mask));
    return r;
}

#elif LANE_BACKEND == 2

#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#define SUBGROUP LANES

int shuffle_up(int v, uint d, int fill, uint lane, __local int *scratch)
{
    return intel_sub_group_shuffle_up(fill, v, d);
}

int shuffle_xor(int v, uint mask, uint lane, __local int *scratch)
{
    return intel_sub_group_shuffle_xor(v, mask);
}

#elif LANE_BACKEND == 3

#define SUBGROUP 64 /* in a wavefront of 32 the lane 32 away is the same one */

uint wave_lane(void)
{
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}

int shuffle_up(int v, uint d, int fill, uint lane, __local int *scratch)
{
    const int r = __builtin_amdgcn_ds_bpermute((int)((wave_lane() - d) << 2), v);
    return lane < d ? fill : r;
}

int shuffle_xor(int v, uint mask, uint lane, __local int *scratch)
{
    return __builtin_amdgcn_ds_bpermute((int)((wave_lane() ^ mask) << 2), v);
}

#else

#define SUBGROUP LANES

/* Where lanes run in step, what one has read before they meet another may write after that; so here, too. */
#define LANES_MEET barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

int shuffle_up(int v, uint d, int fill, uint lane, __local int *scratch)
{
    scratch[lane] = v;
    LANES_MEET;
    const int r = lane < d ? fill : scratch[lane - d];
    barrier(CLK_LOCAL_MEM_FENCE);
    return r;
}

int shuffle_xor(int v, uint mask, uint lane, __local int *scratch)
{
    scratch[lane] = v;
    LANES_MEET;
    const int r = scratch[lane ^ mask];
    barrier(CLK_LOCAL_MEM_FENCE);
    return r;
}

#endif

int lane_max(int v, uint lane, __local int *scratch)
{
#if LANE_BACKEND == 1 && LANES == 32 && COMPUTE_CAPABILITY >= 80
    int r;
    asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(v));
    return r;
#elif LANE_BACKEND == 2
    return sub_group_reduce_max(v);
#else
    for (uint d = LANES / 2; d > 0; d >>= 1) {
        const int r = shuffle_xor(v, d, lane, scratch);
        v = v > r ? v : r;
    }
    return v;
#endif
}

int lane_any(int v, uint lane, __local int *scratch)
{
#if LANE_BACKEND == 1 && LANES == 32
    int r;
    asm volatile("{ .reg .pred is;\n"
                 "setp.ne.s32 is, %1, 0;\n"
                 "vote.sync.any.pred is, is, 0xffffffff;\n"
                 "selp.s32 %0, 1, 0, is; }" : "=r"(r) : "r"(v));
    return r;
#elif LANE_BACKEND == 2
    return sub_group_any(v);
#else
    return lane_max(v != 0, lane, scratch);
#endif
}

float shuffle_up_float(float v, uint d, uint lane, __local int *scratch)
{
    return as_float(shuffle_up(as_int(v), d, 0, lane, scratch));
}

float lane_sum(float v, uint lane, __local int *scratch)
{
    for (uint d = LANES / 2; d > 0; d >>= 1) v += as_float(shuffle_xor(as_int(v), d, lane, scratch));
    return v;
}

int subgroup_min(int v)
{
#if LANE_BACKEND == 1 && LANES < 32 && COMPUTE_CAPABILITY >= 80
    int r;
    asm volatile("redux.sync.min.s32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(v));
    return r;
#else
    for (uint d = SUBGROUP / 2; d >= LANES; d >>= 1) {
        const int r = shuffle_xor(v, d, 0, 0);
        v = v < r ? v : r;
    }
    return v;
#endif
}
