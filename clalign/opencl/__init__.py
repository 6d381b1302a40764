"""OpenCL: the only room that imports pyopencl."""
