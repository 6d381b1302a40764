/* Groups of lanes take places from the list of their model, one or several at once.

   for (uint p = FIRST_PLACE(next, at_once, lane); p < n; p = NEXT_PLACE(p, next, at_once, lane))
   `next` counts those that were taken; all lanes of a group get the same number.
   NEXT_PLACE_IF(wants, p, next, at_once, lane) is the next place for the groups of a sub-group that want one, p for
   the others; NO_PLACE(at_once) is p before the first. All look at n_models, the kernel's number of models.

   Without shuffles every group takes its share in turn: a CPU driver lost itself in loops whose end another item
   decides. */

#include "common/lanes.h"
#include "common/models.h"

#if LANE_BACKEND == 0
#define NO_PLACE(at_once) ((GROUP_OF_MODEL(n_models) - GROUPS_OF_MODEL(n_models)) * (at_once))
#define FIRST_PLACE(next, at_once, lane) (GROUP_OF_MODEL(n_models) * (at_once))
#define NEXT_PLACE(p, next, at_once, lane) ((p) + GROUPS_OF_MODEL(n_models) * (at_once))
#define NEXT_PLACE_IF(wants, p, next, at_once, lane) ((wants) ? NEXT_PLACE(p, next, at_once, lane) : (p))
#else
uint take_places(__global uint *next, uint n, int wants, uint p, uint lane)
{
    int taken = wants ? -1 : (int)p;
    if (wants && lane == 0) taken = atomic_add(next, n);
    return lane_max(taken, lane, 0);
}
#define NO_PLACE(at_once) (~0u)
#define FIRST_PLACE(next, at_once, lane) take_places(next, at_once, 1, 0, lane)
#define NEXT_PLACE(p, next, at_once, lane) take_places(next, at_once, 1, 0, lane)
#define NEXT_PLACE_IF(wants, p, next, at_once, lane) take_places(next, at_once, wants, p, lane)
#endif
