"""Work shared with other processes and machines through Dask, an extra imported only here."""
