"""Work for several processes, of this machine or of others.

Read `workers` first. `cluster` is all that knows Dask.

This folder imports `errors` and `system`.
"""
