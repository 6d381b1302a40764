/* The columns of an alignment that is being made, and an order of them that agrees with every sequence. */

typedef struct {
    int sequence, position;
    int before, after; /* the residues beside it in the sequence; -1 at the ends */
    int index;         /* of the column in the order of all */
    int merged;        /* what the column has become part of; itself if it is alive */
    int first, size;   /* residues of the column, by rising sequence */
    int next;          /* residue of the same column; -1 for the last */
    int mark;          /* when the column was last met */
} member_t;

/* What a column has become part of. */
int column_now(__global member_t *members, int column)
{
    while (members[column].merged != column) {
        members[column].merged = members[members[column].merged].merged;
        column = members[column].merged;
    }
    return column;
}

int share_a_sequence(__global const member_t *members, int one, int other)
{
    int a = members[one].first, b = members[other].first;
    while (a >= 0 && b >= 0) {
        if (members[a].sequence == members[b].sequence) return 1;
        if (members[a].sequence < members[b].sequence) a = members[a].next;
        else b = members[b].next;
    }
    return 0;
}

/* Find the columns between two indices that are behind a column, or before it if `step` is -1; return how many there
   are, or -1 if the one at the end is met. */
int columns_beside(__global member_t *members, __global int *mark, int start, int step, int low, int high,
                   __global int *found)
{
    const int end = step > 0 ? high : low;
    int n = 1;
    found[0] = start;
    members[start].mark = ++*mark;
    for (int k = 0; k < n; k++)
        for (int u = members[found[k]].first; u >= 0; u = members[u].next) {
            const int beside = step > 0 ? members[u].after : members[u].before;
            if (beside < 0) continue;
            const int column = column_now(members, beside), index = members[column].index;
            if (index == end) return -1;
            if (index <= low || index >= high || members[column].mark == *mark) continue;
            members[column].mark = *mark;
            found[n++] = column;
        }
    return n;
}

/* Shell's sort by index. */
void sort_by_index(__global const member_t *members, __global int *columns, int n)
{
    int gap = 1;
    while (gap < n / 9) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (int k = gap; k < n; k++) {
            const int column = columns[k], index = members[column].index;
            int place = k;
            for (; place >= gap && members[columns[place - gap]].index > index; place -= gap)
                columns[place] = columns[place - gap];
            columns[place] = column;
        }
}

/* Give the columns of `before` and then those of `after` the indices that all of them have. */
void reorder(__global member_t *members, __global int *before, int n_before, __global int *after, int n_after,
             __global int *indices)
{
    sort_by_index(members, before, n_before);
    sort_by_index(members, after, n_after);
    for (int b = 0, a = 0; b + a < n_before + n_after;) {
        const int is_before =
            a == n_after || (b < n_before && members[before[b]].index < members[after[a]].index);
        indices[a + b] = members[is_before ? before[b] : after[a]].index;
        if (is_before) b++;
        else a++;
    }
    for (int k = 0; k < n_before; k++) members[before[k]].index = indices[k];
    for (int k = 0; k < n_after; k++) members[after[k]].index = indices[n_before + k];
}

void join_members(__global member_t *members, int survivor, int victim)
{
    int a = members[survivor].first, b = members[victim].first, last = -1;
    while (a >= 0 || b >= 0) {
        const int from_a = b < 0 || (a >= 0 && members[a].sequence < members[b].sequence), taken = from_a ? a : b;
        if (from_a) a = members[a].next;
        else b = members[b].next;
        if (last < 0) members[survivor].first = taken;
        else members[last].next = taken;
        last = taken;
    }
    members[survivor].size += members[victim].size;
    members[victim].merged = survivor;
}

/* Merge two of n columns, if some order of all allows it: return 1, and the one that stays and the one that is gone.

   `mark` counts searches, `scratch` has room for n columns three times. */
int merge_columns(__global member_t *members, int n, int source, int target, __global int *mark,
                  __global int *scratch, __global int *merge)
{
    const int is_ordered = members[source].index < members[target].index;
    const int first = is_ordered ? source : target, last = is_ordered ? target : source;
    const int low = members[first].index, high = members[last].index;
    const int n_after = columns_beside(members, mark, first, 1, low, high, scratch);
    if (n_after < 0) return 0;
    const int n_before = columns_beside(members, mark, last, -1, low, high, scratch + n);
    int survivor = source, victim = target;
    if (n_after == 1) {
        survivor = last;
        victim = first;
    } else if (n_before == 1) {
        survivor = first;
        victim = last;
    } else
        reorder(members, scratch + n, n_before, scratch, n_after, scratch + 2 * n);
    join_members(members, survivor, victim);
    merge[0] = survivor;
    merge[1] = victim;
    return 1;
}
