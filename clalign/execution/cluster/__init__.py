"""Computing a run on the workers of a Dask cluster; the library of Dask is loaded when a cluster is used."""
