"""OpenCL C sources; read as text through importlib.resources."""
