/* A clock that all work-groups of a device read, in ticks of no known length; 0 where a compiler has none.

   After it: ticks_now(). */

#ifndef LANE_BACKEND
#define LANE_BACKEND 0
#endif

#if defined(cl_khr_kernel_clock) && defined(__opencl_c_kernel_clock_scope_device)
#pragma OPENCL EXTENSION cl_khr_kernel_clock : enable
#define TICKS clock_read_device()
#elif defined(__has_builtin) && defined(__AMDGCN__)
#if __has_builtin(__builtin_readsteadycounter)
#define TICKS __builtin_readsteadycounter()
#endif
#elif defined(__has_builtin) && defined(__x86_64__)
#if __has_builtin(__builtin_readcyclecounter)
#define TICKS __builtin_readcyclecounter() /* its rate does not vary, and is that of all cores */
#endif
#endif

ulong ticks_now(void)
{
#if LANE_BACKEND == 1
    ulong ticks;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ticks));
    return ticks;
#elif defined(TICKS)
    return TICKS;
#else
    return 0;
#endif
}
