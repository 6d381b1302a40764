/* Operations with floats across the lanes that share one sequence (see common/lanes.h, to be included first).

   lane_up_float(v, d, lane, scratch)   value of the lane d below, 0 for the lanes below d
   lane_sum(v, lane, scratch)           sum over the lanes, the same in all of them */

float lane_up_float(float v, uint d, uint lane, __local int *scratch)
{
    return as_float(lane_up(as_int(v), d, 0, lane, scratch));
}

float lane_sum(float v, uint lane, __local int *scratch)
{
#if LANE_BACKEND == 1
    for (uint d = LANES / 2; d > 0; d >>= 1) {
        int r;
        asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(as_int(v)), "r"(d));
        v += as_float(r);
    }
#elif LANE_BACKEND == 2
    for (uint d = LANES / 2; d > 0; d >>= 1) v += intel_sub_group_shuffle_xor(v, d);
#elif LANE_BACKEND == 3
    const uint wave_lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    for (uint d = LANES / 2; d > 0; d >>= 1)
        v += as_float(__builtin_amdgcn_ds_bpermute((int)((wave_lane ^ d) << 2), as_int(v)));
#else
    for (uint d = LANES / 2; d > 0; d >>= 1) {
        scratch[lane] = as_int(v);
        barrier(CLK_LOCAL_MEM_FENCE);
        const float r = as_float(scratch[lane ^ d]);
        barrier(CLK_LOCAL_MEM_FENCE);
        v += r;
    }
#endif
    return v;
}
