/* Whole numbers side by side in lanes, which are work-items (common/lanes.h).

   numbers                     one number a lane
   crew_t                      what the lanes of a team need to exchange them
   LANE_ABOVE(team, u, fill)   the value of the lane before, `fill` for the first one
   LANE_ZERO(u), LAST_LANE(u)  the value of the first or last lane; in the other lanes of work-items another
   HAS_FIRST_LANE(team), HAS_LAST_LANE(team)   whether this work-item has that lane
   ANY_LANE(mask)              whether a comparison is true in a lane of this work-item
   LANE_NUMBERS(team)          0, 1, 2 ...
   TEAM_MEETS                  until all work-items of the team have come this far, and see what the others wrote
   EACH_LANE(team, l)          a loop over the lanes of this work-item by number; AT_LANE(u, l) is the number of such a
                               lane in u, an each_lane_t, which has all of them as u.v

   Macros: see common/lanes.h */

#include "common/lanes.h"

typedef int numbers;
typedef struct { uint lane; __local int *scratch; } crew_t;
typedef struct { int v; } each_lane_t;
#define LANE_ABOVE(team, u, fill) shuffle_up(u, 1, fill, (team)->lane, (team)->scratch)
#define LANE_ZERO(u) (u)
#define LAST_LANE(u) (u)
#define HAS_FIRST_LANE(team) ((team)->lane == 0)
#define HAS_LAST_LANE(team) ((team)->lane == LANES - 1)
#define ANY_LANE(mask) (mask)
#define LANE_NUMBERS(team) ((int)(team)->lane)
#define TEAM_MEETS barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define EACH_LANE(team, l) int l = (team)->lane, l##_once = 1; l##_once; l##_once = 0
#define AT_LANE(u, l) (u).v
