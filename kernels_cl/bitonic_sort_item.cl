/* Bitonic sort of keys with their places, by many groups that meet between its rounds.

   An item is a key and its place in the input, so that no two are equal and equal keys stay in order. In a round
   either each tile, which fits local memory, is sorted or merged, or items that are further apart are compared in up to
   MAX_STEPS steps of the network at once. All comparisons put the lesser item first: the first step of each merge compares
   an item with its mirror image. So what would lie behind the last item stays there and need not be in memory.

   Buffers
     facts, words  see common/group_barriers.h
     keys          uint[n] or ulong[n]
     items         item_t[n]
     rounds        int4[]: binary logarithm of the items that a round compares with each other; its steps, 0 for tiles;
                   whether it begins with mirror images (of tiles: whether it sorts them)
     order         uint[n], out: the places of the keys in rising order

   Scalars
     n            items
     first, last  rounds of this launch

   Macros
     KEY_BITS  32 or 64
     TILE_LOG  binary logarithm of the items of a tile, at least MAX_STEPS - 1
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: any number of groups of any size. */

#include "common/group_barriers.h"

#ifndef KEY_BITS
#define KEY_BITS 32
#endif
#ifndef TILE_LOG
#define TILE_LOG 10
#endif
#define TILE (1u << TILE_LOG)
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

/* Most steps of a round, and the items that a work-item has in registers. */
#define MAX_STEPS 3
#define IN_REGISTERS (1u << MAX_STEPS)

#if KEY_BITS == 64
typedef ulong sort_key_t;
typedef ulong2 item_t;
#define ITEM(key, place) ((item_t)(key, place))
#define PLACE(item) ((item).y)
#define COMES_AFTER(a, b) (((a).x > (b).x) | (((a).x == (b).x) & ((a).y > (b).y)))
#else
typedef uint sort_key_t;
typedef ulong item_t;
#define ITEM(key, place) ((ulong)(key) << 32 | (place))
#define PLACE(item) (item)
#define COMES_AFTER(a, b) ((a) > (b))
#endif

/* What lies behind the last item. */
#define LAST_ITEM ((item_t)(ULONG_MAX))

__kernel void pair_keys(__global const sort_key_t *keys, const uint n, __global item_t *items)
{
    for (uint place = get_global_id(0); place < n; place += get_global_size(0))
        items[place] = ITEM(keys[place], place);
}

__kernel void take_order(__global const item_t *items, const uint n, __global uint *order)
{
    for (uint place = get_global_id(0); place < n; place += get_global_size(0))
        order[place] = (uint)PLACE(items[place]);
}

/* Put two items of a tile in order. */
void exchange_in_tile(__local item_t *tile, uint a, uint b)
{
    const item_t x = tile[a], y = tile[b];
    if (COMES_AFTER(x, y) && !(SABOTAGE && a % 64 == 5)) {
        tile[a] = y;
        tile[b] = x;
    }
}

/* The steps of a merge from items that are `far` apart on; all of the group meet before each. */
void merge_tile(__local item_t *tile, uint far)
{
    for (; far > 0; far /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint pair = get_local_id(0); pair < TILE / 2; pair += get_local_size(0)) {
            const uint a = 2 * pair - (pair & (far - 1));
            exchange_in_tile(tile, a, a + far);
        }
    }
}

void sort_tile(__local item_t *tile)
{
    for (uint span = 2; span <= TILE; span *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint pair = get_local_id(0); pair < TILE / 2; pair += get_local_size(0)) {
            const uint within = pair & (span / 2 - 1), begin = 2 * (pair - within);
            exchange_in_tile(tile, begin + within, begin + span - 1 - within);
        }
        merge_tile(tile, span / 4);
    }
}

void round_of_tiles(const meeting_t *meeting, GROUPS_SHARE item_t *items, uint n, int sorts, __local item_t *tile)
{
    const uint size = get_local_size(0);
    for (uint begin = meeting->group * TILE; begin < n; begin += meeting->n * TILE) {
        for (uint i = get_local_id(0); i < TILE; i += size)
            tile[i] = begin + i < n ? items[begin + i] : LAST_ITEM;
        if (sorts)
            sort_tile(tile);
        else
            merge_tile(tile, TILE / 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = get_local_id(0); i < TILE && begin + i < n; i += size)
            items[begin + i] = tile[i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* Compare items in registers: IN_REGISTERS of them in sets of 2^steps, which are equally far apart; with mirror images the
   upper half of a set is taken from the end of the span, so that there the lesser one comes last. */
void round_of_steps(const meeting_t *meeting, GROUPS_SHARE item_t *items, uint n, uint span_log, uint steps, int mirrors)
{
    const uint upper = 1u << steps - 1, far_log = span_log - steps, sets_log = MAX_STEPS - steps;
    const uint end = ((n - 1) >> span_log) + 1 << far_log - sets_log, stride = meeting->n * get_local_size(0);
    for (uint turn = meeting->group * get_local_size(0) + get_local_id(0); turn < end; turn += stride) {
        item_t x[IN_REGISTERS];
        uint place[IN_REGISTERS];
#pragma unroll
        for (uint i = 0; i < IN_REGISTERS; i++) {
            const uint set = (turn << sets_log) + (i >> steps), member = i & 2 * upper - 1;
            const uint begin = set >> far_log << span_log, within = set & (1u << far_log) - 1;
            const uint ahead = within + (member << far_log);
            const uint behind = (1u << span_log) - 1 - within - (member - upper << far_log);
            place[i] = begin + (mirrors && member >= upper ? behind : ahead);
            x[i] = place[i] < n ? items[place[i]] : LAST_ITEM;
        }
#pragma unroll
        for (uint apart = IN_REGISTERS / 2; apart > 0; apart /= 2)
#pragma unroll
            for (uint i = 0; i < IN_REGISTERS; i++) {
                if (i & apart || apart > upper)
                    continue;
                const item_t a = x[i], b = x[i | apart];
                const int falls = mirrors && apart < upper && i & upper, is_wrong = COMES_AFTER(a, b) != falls;
                x[i] = is_wrong ? b : a;
                x[i | apart] = is_wrong ? a : b;
            }
#pragma unroll
        for (uint i = 0; i < IN_REGISTERS; i++)
            if (place[i] < n)
                items[place[i]] = x[i];
    }
}

__kernel void bitonic_rounds(__global const int *facts, volatile __global int *words, GROUPS_SHARE item_t *items,
                             const uint n, __global const int4 *rounds, const int first, const int last)
{
    __local int flags[2];
    __local item_t tile[TILE];
    meeting_t meeting;
    if (!groups_gather(&meeting, facts, words, flags))
        return;
    for (int number = first; number < last; number++) {
        const int4 round = rounds[number];
        if (round.y == 0)
            round_of_tiles(&meeting, items, n, round.z, tile);
        else
            round_of_steps(&meeting, items, n, round.x, round.y, round.z);
        if (number + 1 < last && !groups_meet(&meeting))
            return;
    }
}
