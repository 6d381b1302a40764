"""Opened devices: sessions, batches, and in `opencl` the one room that imports pyopencl."""
