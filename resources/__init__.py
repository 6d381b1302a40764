"""Icons, examples and tables; read through importlib.resources."""
