/* Meetings of the work-groups of a launch: a barrier across groups that run at the same time.

     __local int flags[2];
     meeting_t meeting;
     if (!groups_gather(&meeting, facts, words, flags))
         return;
     for (...) {
         ... work of group `meeting.group` of `meeting.n` (not those of get_group_id and get_num_groups) ...
         if (!groups_meet(&meeting))
             return;
     }

   All work-items of all groups call `groups_meet`; what they have written to global memory before is what all see
   afterwards. It returns the same for all of a group: 0 if somebody did not come, and then the group is to leave. No group waits for
   longer than its patience, so that nothing hangs on a device that does not run all groups at once; the host learns
   of it from the first word. What one group writes and another reads is to be declared GROUPS_SHARE.

   BARRIER_METHOD  0 none: each launch is a step, and its end the barrier; only groups that are alone may meet
            1 LBS: everybody adds 1 to a counter and waits until it is complete
            2 ILBS: groups in sets, each with a counter; the leader of a set that is complete adds 1 to the main one
            3 LFS: no counter; an observer watches a word for each group, and then answers each in another one
              ULFS: the same in a tree, with an observer for as many groups as a group has work-items

   Buffers (clalign/compute/group_barriers.py)
     facts  int[N_FACTS]
     words  int[], out: all 0 at first; none is reset between meetings, which are counted

   After S. Xiao, W. Feng, IPDPS 2010; ILBS and ULFS after Savadi, Salavatizadeh and Riahi; the poll after Sorensen
   and others, OOPSLA 2016. */

#ifndef BARRIER_METHOD
#define BARRIER_METHOD 1
#endif
#ifndef LANE_BACKEND
#define LANE_BACKEND 0
#endif

/* Fences of the whole device exist in OpenCL 1.2 only as far as a vendor has them; elsewhere memory that groups share
   is not kept in registers or caches of one of them. */
#if defined(__AMDGCN__) || LANE_BACKEND == 1 || defined(__x86_64__) || defined(__aarch64__)
#define GROUPS_SHARE __global
#else
#define GROUPS_SHARE volatile __global
#endif

enum { FACT_PATIENCE, FACT_SETS, FACT_POLL, FACT_POLL_PATIENCE, FACT_WANTED, N_FACTS };
enum { NO_POLL, POLL_TO_MEET, POLL_TO_COUNT };

/* Words that many groups write lie in lines of their own. */
#define WORD_LINE 32
enum { GAVE_UP = 0, BALLOT = WORD_LINE, MAIN_COUNTER = 2 * WORD_LINE, MEETING_WORDS = 3 * WORD_LINE };

#define POLL_CLOSED (1 << 30)

/* Readings between two looks at whether another group has given up. */
#define LOOK_EVERY 64

typedef struct {
    volatile __global int *words;
    __local int *flags;
    int group, n; /* number of this group, and how many there are */
    int goal;     /* meetings so far */
    int sets, patience;
    __global ulong *stamps; /* of a kernel that notes when steps are done */
} meeting_t;

/* What a kernel may do when a step of a tree is done. */
#ifndef STEP_DONE
#define STEP_DONE(meeting)
#endif

void fence_groups(void)
{
#if defined(__AMDGCN__)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
#elif LANE_BACKEND == 1
    asm volatile("membar.gl;" ::: "memory");
#else
    mem_fence(CLK_GLOBAL_MEM_FENCE);
#endif
}

int word_now(volatile __global int *word)
{
#if LANE_BACKEND == 1
    return *word; /* for PTX a volatile reading is an atomic one */
#else
    return atomic_or(word, 0);
#endif
}

void set_word(volatile __global int *word, int value)
{
    atomic_xchg(word, value);
}

/* Wait until a word has come up to the meeting's number, or to what else is meant by `goal`. */
void await_word(const meeting_t *meeting, volatile __global int *word, int goal)
{
    volatile __global int *gave_up = meeting->words + GAVE_UP;
    for (int look = 1; word_now(word) - goal < 0; look++)
        if (look > meeting->patience || (look % LOOK_EVERY == 0 && word_now(gave_up))) {
            atomic_cmpxchg(gave_up, 0, meeting->goal);
            atomic_xchg(meeting->flags + (meeting->goal & 1), 0);
            return;
        }
}

/* Whether nobody of this group has given up. */
int is_well(const meeting_t *meeting)
{
    return atomic_or(meeting->flags + (meeting->goal & 1), 0);
}

#if BARRIER_METHOD == 1

void exchange_words(const meeting_t *meeting)
{
    if (get_local_id(0) == 0) {
        atomic_inc(meeting->words + MAIN_COUNTER);
        await_word(meeting, meeting->words + MAIN_COUNTER, meeting->goal * meeting->n);
    }
}

#elif BARRIER_METHOD == 2

void exchange_words(const meeting_t *meeting)
{
    const int n = meeting->n, sets = meeting->sets, set = meeting->group % sets;
    volatile __global int *counter = meeting->words + MEETING_WORDS + WORD_LINE * set;
    if (get_local_id(0) == 0) {
        atomic_inc(counter);
        if (meeting->group == set) {
            await_word(meeting, counter, meeting->goal * (n / sets + (set < n % sets)));
            if (is_well(meeting))
                atomic_inc(meeting->words + MAIN_COUNTER);
        }
        await_word(meeting, meeting->words + MAIN_COUNTER, meeting->goal * sets);
    }
}

#elif BARRIER_METHOD == 3

/* One level of the tree: all groups at the lowest, at each above the observers of the one below, which are the first
   of all groups. Each has two words: it has come, and it may go. */
typedef struct {
    volatile __global int *come, *go;
    int n;
} level_t;

level_t lowest_level(const meeting_t *meeting)
{
    volatile __global int *come = meeting->words + MEETING_WORDS;
    const level_t level = {come, come + meeting->n, meeting->n};
    return level;
}

level_t level_above(level_t below)
{
    const int watched = get_local_size(0), n = (below.n + watched - 1) / watched;
    const level_t level = {below.go + below.n, below.go + below.n + n, n};
    return level;
}

void exchange_words(const meeting_t *meeting)
{
    const int local_id = get_local_id(0), group = meeting->group, goal = meeting->goal;
    const int watched = group * (int)get_local_size(0) + local_id;
    level_t level = lowest_level(meeting);
    int height = 0;
    STEP_DONE(meeting);
    if (local_id == 0)
        set_word(level.come + group, goal);
    STEP_DONE(meeting);
    for (level_t above = level_above(level); level.n > 1 && group < above.n; above = level_above(level)) {
        if (watched < level.n)
            await_word(meeting, level.come + watched, goal);
        STEP_DONE(meeting);
        fence_groups();
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        fence_groups();
        STEP_DONE(meeting);
        level = above;
        height++;
        if (local_id == 0 && level.n > 1 && is_well(meeting))
            set_word(level.come + group, goal);
        STEP_DONE(meeting);
    }
    for (; height >= 0; height--) {
        const int is_top = level.n == 1; /* it has met its observers just now, or is alone */
        if (local_id == 0 && !is_top)
            await_word(meeting, level.go + group, goal);
        STEP_DONE(meeting);
        if (height == 0)
            return;
        if (!is_top) {
            fence_groups();
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            fence_groups();
        }
        STEP_DONE(meeting);
        level = lowest_level(meeting);
        for (int h = 1; h < height; h++)
            level = level_above(level);
        if (watched < level.n && is_well(meeting))
            set_word(level.go + watched, goal);
        STEP_DONE(meeting);
    }
}

#else

void exchange_words(const meeting_t *meeting)
{
    if (get_local_id(0) == 0)
        await_word(meeting, meeting->words + MAIN_COUNTER, meeting->n - 1);
}

#endif

int groups_meet(meeting_t *meeting)
{
    meeting->goal++;
    fence_groups();
    if (get_local_id(0) == 0)
        atomic_xchg(meeting->flags + (meeting->goal & 1), 1);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    exchange_words(meeting);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    fence_groups();
    return is_well(meeting);
}

/* Enter a poll that the first closes who has waited long enough, or who sees that all have come. Return the group's
   number among those who came in time, or -1; `n` becomes how many they are. */
int enter_poll(__global const int *facts, volatile __global int *words, int *n)
{
    int seen = word_now(words + BALLOT), number = -1;
    while (!(seen & POLL_CLOSED) && number < 0) {
        const int before = atomic_cmpxchg(words + BALLOT, seen, seen + 1);
        number = before == seen ? seen : -1;
        seen = before;
    }
    if (number < 0)
        return number;
    for (int look = 0; look < facts[FACT_POLL_PATIENCE]; look++) {
        seen = word_now(words + BALLOT);
        if (seen & POLL_CLOSED || seen >= facts[FACT_WANTED])
            break;
    }
    *n = atomic_or(words + BALLOT, POLL_CLOSED) & ~POLL_CLOSED;
    return number;
}

/* Begin; return 0 if this group takes no part and is to leave. */
int groups_gather(meeting_t *meeting, __global const int *facts, volatile __global int *words, __local int *flags)
{
    meeting->words = words;
    meeting->flags = flags;
    meeting->goal = 0;
    meeting->patience = facts[FACT_PATIENCE];
    meeting->group = get_group_id(0);
    meeting->n = get_num_groups(0);
    if (facts[FACT_POLL] != NO_POLL) {
        if (get_local_id(0) == 0) {
            int n = 0;
            flags[0] = enter_poll(facts, words, &n);
            flags[1] = n;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        meeting->group = flags[0];
        meeting->n = flags[1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    meeting->sets = min(facts[FACT_SETS], meeting->n);
    return meeting->group >= 0 && facts[FACT_POLL] != POLL_TO_COUNT;
}
