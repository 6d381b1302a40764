// The sequential program of source 001: Smith-Waterman of many pairs with full matrices of scores and directions, and
// the path of the best alignment. Match +1, mismatch -1, each residue of a gap -2.
//
// Input: a file with the number of pairs and the residues of each sequence as text in a line, then queries and targets,
// a byte for each residue. Output: the seconds in a line, then the score of each pair.

#include <chrono>
#include <cstdio>
#include <vector>

const int MATCH = 1, MISMATCH = -1, GAP = -2;

static int align(const unsigned char *query, const unsigned char *target, int n, std::vector<int> &scores,
                 std::vector<short> &directions)
{
    const int width = n + 1;
    int best = 0, best_i = 0, best_j = 0;
    for (int i = 1; i <= n; i++) {
        for (int j = 1; j <= n; j++) {
            const int diagonal = scores[(i - 1) * width + j - 1] + (query[i - 1] == target[j - 1] ? MATCH : MISMATCH);
            const int up = scores[(i - 1) * width + j] + GAP, left = scores[i * width + j - 1] + GAP;
            int score = 0;
            short direction = 0;
            if (diagonal > score) score = diagonal, direction = 1;
            if (up > score) score = up, direction = 2;
            if (left > score) score = left, direction = 3;
            scores[i * width + j] = score;
            directions[i * width + j] = direction;
            if (score > best) best = score, best_i = i, best_j = j;
        }
    }
    std::vector<char> path;
    while (const short direction = directions[best_i * width + best_j]) {
        path.push_back(" MID"[direction]);
        if (direction != 3) best_i--;
        if (direction != 2) best_j--;
    }
    return path.empty() == (best == 0) ? best : -1;
}

int main(int argc, char **argv)
{
    std::FILE *file = argc == 2 ? std::fopen(argv[1], "rb") : nullptr;
    int n_pairs = 0, n = 0;
    if (!file || std::fscanf(file, "%d %d", &n_pairs, &n) != 2 || std::fgetc(file) != '\n') return 1;
    std::vector<unsigned char> residues(2 * (size_t)n_pairs * n);
    if (std::fread(residues.data(), 1, residues.size(), file) != residues.size()) return 1;
    const auto began = std::chrono::steady_clock::now();
    std::vector<int> found;
    for (int pair = 0; pair < n_pairs; pair++) {
        std::vector<int> scores((size_t)(n + 1) * (n + 1));
        std::vector<short> directions((size_t)(n + 1) * (n + 1));
        const unsigned char *query = &residues[(size_t)pair * n], *target = &residues[(size_t)(n_pairs + pair) * n];
        found.push_back(align(query, target, n, scores, directions));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("%.9f\n", took.count());
    for (const int score : found) std::printf("%d\n", score);
    return 0;
}
