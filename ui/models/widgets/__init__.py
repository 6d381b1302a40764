"""Models of parts that any page may use."""
