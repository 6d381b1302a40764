"""Charts: histograms, heat maps, architectures, drawings."""
