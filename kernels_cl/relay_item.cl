/* Groups that pass numbers on: in each round every work-item takes what its like in the next group had after the round
   before. What is wrong with a barrier shows at once, and a round costs little else.

   Round r makes of a number x of the next group the number 1664525 x + 1013904223 + r.

   Buffers
     facts, words  see common/group_barriers.h
     given         uint[n]
     numbers       uint[2 * n], in: the numbers before the first round in its first half; out: after an even number of
                   rounds there, else in the second half
     times         ulong[rounds][groups][2], out, if TIMED 1: when each group comes to a meeting and leaves it;
                   ulong[rounds][STAMPS], out, if TIMED 2: when the steps of the tree are done for the first work-item

   Scalars
     first, last   rounds of this launch, counted from 0; the last one not included

   Macros
     TIMED     1 to note times; 2 those of steps, with BARRIER_METHOD 3 and three levels at most
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: n groups of any size, a number for each work-item; with BARRIER_METHOD 0 a round a launch. */

#include "common/clocks.h"

#ifndef TIMED
#define TIMED 0
#endif
#if TIMED == 2
#define STAMPS 16
#define STEP_DONE(meeting) \
    if (get_local_id(0) == 0 && (meeting)->group == 0) (meeting)->stamps[(meeting)->flags[2]++] = ticks_now()
#endif

#include "common/group_barriers.h"

#if TIMED
#define TIMES __global ulong *times,
#else
#define TIMES
#endif
#if TIMED == 1
#define NOTE(round, place) \
    if (local_id == 0) times[2 * ((size_t)(round) * meeting.n + meeting.group) + (place)] = ticks_now()
#elif TIMED == 2
#define NOTE(round, place) \
    meeting.stamps = times + STAMPS * (size_t)(round); \
    if (local_id == 0) flags[2] = 0
#else
#define NOTE(round, place)
#endif

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

__kernel void relay(__global const int *facts, volatile __global int *words, GROUPS_SHARE uint *numbers,
                    TIMES const int first, const int last)
{
    __local int flags[3];
    meeting_t meeting;
    if (!groups_gather(&meeting, facts, words, flags))
        return;
    const int size = get_local_size(0), local_id = get_local_id(0), side = get_global_size(0);
    const int own = meeting.group * size + local_id;
    const int next = (meeting.group + 1) % meeting.n * size + local_id;
    for (int round = first; round < last; round++) {
        const int from = round % 2 ? side : 0;
        numbers[side - from + own] = 1664525u * numbers[from + next] + 1013904223u + (uint)round;
        NOTE(round, 0);
        if (round + 1 < last && !SABOTAGE && !groups_meet(&meeting))
            return;
        NOTE(round, 1);
    }
}

__kernel void copy_numbers(__global const uint *given, __global uint *numbers)
{
    numbers[get_global_id(0)] = given[get_global_id(0)];
}
