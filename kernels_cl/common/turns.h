/* Groups of lanes that take places from a list, one or several at once (needs common/lanes.h).

   for (uint p = FIRST_PLACE(next, at_once); p < n; p = NEXT_PLACE(p, next, at_once))
   `next` counts those that were taken; all lanes of a group get the same number.
   NEXT_PLACE_IF(wants, p, next, at_once) is the next place for the groups of a sub-group that want one, p for the
   others; NO_PLACE(at_once) is p before the first. */

/* Without shuffles every group takes its share in turn: a CPU driver lost itself in loops whose end another item decides. */
#if LANE_BACKEND == 0
#define NO_PLACE(at_once) ((get_group_id(0) - get_num_groups(0)) * (at_once))
#define FIRST_PLACE(next, at_once) (get_group_id(0) * (at_once))
#define NEXT_PLACE(p, next, at_once) ((p) + get_num_groups(0) * (at_once))
#define NEXT_PLACE_IF(wants, p, next, at_once) ((wants) ? NEXT_PLACE(p, next, at_once) : (p))
#else
uint take(__global uint *next, uint n, int wants, uint p, uint lane)
{
    int taken = wants ? -1 : (int)p;
    if (wants && lane == 0) taken = atomic_add(next, n);
    return lane_max(taken, lane, 0);
}
#define NO_PLACE(at_once) (~0u)
#define FIRST_PLACE(next, at_once) take(next, at_once, 1, 0, lane)
#define NEXT_PLACE(p, next, at_once) take(next, at_once, 1, 0, lane)
#define NEXT_PLACE_IF(wants, p, next, at_once) take(next, at_once, wants, p, lane)
#endif
