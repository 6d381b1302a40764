"""One plain numpy file for each algorithm: short, slow, obvious. The oracle."""
