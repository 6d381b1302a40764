"""Models of the window: values and Qt models, no widgets."""
