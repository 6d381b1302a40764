"""Programs whose work-groups meet: their kernels, and what computes the same in one."""
