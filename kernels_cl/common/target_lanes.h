/* Lanes that hold a sequence each and take the next one when it has ended, for CPUs.

   Macros
     LANES    sequences at once
     COLUMNS  residues of each that are worked on together

   Sequences come from a list and a counter that all cores share. */

typedef struct {
    int row[LANES];   /* the sequence; NOBODY if there is none */
    int left[LANES];  /* residues of it that were not worked on */
    uint at[LANES];   /* where they begin */
    uint step[LANES]; /* COLUMNS; 0 if there is none */
    int n_lanes;      /* in use */
    int n_idle;       /* of these */
    int is_dry;       /* the list is at its end */
} lanes_t;

#define NOBODY (-1)

/* All lanes without a sequence; each core takes no more than its share of few. */
void begin_lanes(lanes_t *lanes, const uint n_rows)
{
    const uint share = (n_rows + (uint)get_global_size(0) - 1) / (uint)get_global_size(0);
    for (int lane = 0; lane < LANES; lane++) {
        lanes->row[lane] = NOBODY;
        lanes->left[lane] = 0;
        lanes->at[lane] = lanes->step[lane] = 0;
    }
    lanes->n_lanes = lanes->n_idle = min(share, (uint)LANES);
    lanes->is_dry = 0;
}

/* Give idle lanes the next sequences; say which ones have got one. */
void take_sequences(lanes_t *lanes, score_t *is_new, __global const int *offsets, __global const int *rows,
                    const uint n_rows, __global uint *next)
{
    for (int lane = 0; lane < LANES; lane++) {
        is_new[lane] = 0;
        if (lane >= lanes->n_lanes || lanes->row[lane] != NOBODY || lanes->is_dry) continue;
        const uint place = atomic_inc(next);
        if (place >= n_rows) {
            lanes->is_dry = 1;
            continue;
        }
        const int row = rows[place];
        lanes->row[lane] = row;
        lanes->left[lane] = offsets[row + 1] - offsets[row];
        lanes->at[lane] = offsets[row];
        lanes->step[lane] = COLUMNS;
        lanes->n_idle--;
        is_new[lane] = -1;
    }
}

/* Residues of the sequence that ends first. */
int fewest_left(const lanes_t *lanes)
{
    int fewest = INT_MAX;
    for (int lane = 0; lane < LANES; lane++)
        if (lanes->row[lane] != NOBODY) fewest = min(fewest, lanes->left[lane]);
    return fewest;
}

/* The next residues of all lanes, of which none ends. An idle lane reads other residues for nothing. */
__attribute__((always_inline))
void read_columns(uchar *columns, lanes_t *lanes, __global const uchar *codes)
{
    for (int lane = 0; lane < LANES; lane++) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) columns[c * LANES + lane] = codes[lanes->at[lane] + c];
        lanes->at[lane] += lanes->step[lane];
    }
}

/* The last residues of lanes that end, filled up; the next ones of the others. */
void read_last_columns(uchar *columns, lanes_t *lanes, __global const uchar *codes)
{
    for (int lane = 0; lane < LANES; lane++) {
        for (int c = 0; c < COLUMNS; c++)
            columns[c * LANES + lane] = c < lanes->left[lane] ? codes[lanes->at[lane] + c] : NO_LETTER;
        lanes->at[lane] += lanes->step[lane];
    }
}

/* Count columns that were worked on. */
void leave_columns(lanes_t *lanes, const int n_columns)
{
    for (int lane = 0; lane < LANES; lane++)
        if (lanes->row[lane] != NOBODY) lanes->left[lane] -= n_columns;
}

/* Let the sequence of a lane go. */
void let_go(lanes_t *lanes, const int lane)
{
    lanes->row[lane] = NOBODY;
    lanes->left[lane] = 0;
    lanes->at[lane] = lanes->step[lane] = 0;
    lanes->n_idle++;
}
