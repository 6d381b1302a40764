"""Computing a run on the workers of a cluster, which Dask distributed keeps; its library is loaded when one is used."""
