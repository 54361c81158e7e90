"""Many runs of one model: on this machine, and on a Dask cluster."""
