"""Controllers that those of the engines build on."""
