"""Forms made from the fields of a spec."""
