/* Words of global and of local memory in the orders of textbooks: the laboratory of what an order of reading costs.

   Buffers
     given       uint[items * rounds]         read_global: each word is read once, by one work-item
                 uint[LOCAL_WORDS]            read_local
     a, b        uint[n][n]                   multiply
     sums        uint[items]                  out: sum of the words that each work-item has read
     product     uint[n][n]                   out: a times b, modulo 2 to the 32

   Scalars
     stride  words from what a work-item reads to what the next one reads at the same time; of read_global it divides
             rounds, the words of each work-item
     rounds  words that a work-item reads
     n       rows and columns

   Macros
     LOCAL_ROW  1: a work-group keeps its row of a in local memory
     N          columns, if LOCAL_ROW

   Geometry: read_global: any. read_local: groups of GROUP. multiply: a work-group of any size for each row. */

#define LOCAL_WORDS 4096

#ifndef LOCAL_ROW
#define LOCAL_ROW 0
#endif
#ifndef N
#define N 16
#endif

__kernel void read_global(__global const uint *given, const int stride, const int rounds, __global uint *sums)
{
    const size_t item = get_global_id(0), n = get_global_size(0);
    uint sum = 0;
    for (int round = 0; round < rounds; round++)
        sum += given[(item + n * (round / stride)) * stride + round % stride];
    sums[item] = sum;
}

__kernel void read_local(__global const uint *given, const int stride, const int rounds, __global uint *sums)
{
    __local uint words[LOCAL_WORDS];
    const int own = get_local_id(0);
    for (int place = own; place < LOCAL_WORDS; place += get_local_size(0)) words[place] = given[place];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    for (int round = 0; round < rounds; round++) sum = sum * 3 + words[(own * stride + round) % LOCAL_WORDS];
    sums[get_global_id(0)] = sum;
}

__kernel void multiply(__global const uint *a, __global const uint *b, const int n, __global uint *product)
{
    const int row = get_group_id(0);
#if LOCAL_ROW
    __local uint of_row[N];
    for (int k = get_local_id(0); k < n; k += get_local_size(0)) of_row[k] = a[row * n + k];
    barrier(CLK_LOCAL_MEM_FENCE);
#else
    __global const uint *of_row = a + row * n;
#endif
    for (int column = get_local_id(0); column < n; column += get_local_size(0)) {
        uint sum = 0;
        for (int k = 0; k < n; k++) sum += of_row[k] * b[k * n + column];
        product[row * n + column] = sum;
    }
}
