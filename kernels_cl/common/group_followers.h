/* Groups of which each needs only what the one before it has done: they do not meet (common/group_barriers.h), but one
   writes to a word how far it is, and the next one follows it.

   What one group writes and another reads is to be declared GROUPS_SHARE. */

#include "common/group_barriers.h"

#ifndef COMPUTE_CAPABILITY
#define COMPUTE_CAPABILITY 0
#endif

/* Between what is written and the word that marks it, and between a word and what is read then. */
void fence_followers(void)
{
#if LANE_BACKEND == 1 && COMPUTE_CAPABILITY >= 70
    asm volatile("fence.acq_rel.gpu;" ::: "memory"); /* membar.gl puts all fences in one order, which takes longer */
#else
    fence_groups();
#endif
}

/* Write to the word `own` that `done` is done, if this work-item `writes`: the one that has computed it. Then wait until
   the word `other` has come up to `goal`, unless that is 0. The first work-item has `seen` of the other word; it looks
   again without waiting for what it will see the next time. All of a group call it and get the same: 0 if the group
   is to leave. */
int group_follows(meeting_t *meeting, volatile __global int *own, int done, int writes, volatile __global int *other,
                  int goal, int *seen)
{
    fence_followers(); /* before the own word, and after the other one, which was seen earlier */
    if (writes)
        set_word(own, done);
    if (!other)
        return 1;
    meeting->goal++;
    if (get_local_id(0) == 0) {
        atomic_xchg(meeting->flags + (meeting->goal & 1), 1);
        if (*seen - goal < 0) {
            await_word(meeting, other, goal);
            fence_followers();
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int goes_on = is_well(meeting);
    if (get_local_id(0) == 0)
        *seen = word_now(other);
    return goes_on;
}
