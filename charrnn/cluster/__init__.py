"""Work shared with other processes and machines through Dask; no other folder imports Dask.

Dask is an extra, imported when a cluster is opened.
"""
