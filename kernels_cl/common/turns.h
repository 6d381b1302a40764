/* Groups of lanes that take places from a list, one or several at once (needs common/lanes.h).

   for (uint p = FIRST_PLACE(next, at_once); p < n; p = NEXT_PLACE(p, next, at_once))
   `next` counts those that were taken; all lanes of a group get the same number. */

/* Without shuffles every group takes its share in turn: a CPU driver lost itself in loops whose end another item decides. */
#if LANE_BACKEND == 0
#define FIRST_PLACE(next, at_once) (get_group_id(0) * (at_once))
#define NEXT_PLACE(p, next, at_once) ((p) + get_num_groups(0) * (at_once))
#else
uint take(__global uint *next, uint n, uint lane)
{
    int taken = 0;
    if (lane == 0) taken = atomic_add(next, n);
    return lane_max(taken, lane, 0);
}
#define FIRST_PLACE(next, at_once) take(next, at_once, lane)
#define NEXT_PLACE(p, next, at_once) take(next, at_once, lane)
#endif
