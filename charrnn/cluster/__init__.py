"""Work shared out to other processes and machines, by Dask: the one room that knows it.

    opening           workers here, or a scheduler somewhere: open_cluster
    scheduler_check   who answers at an address, before anything is believed
    local             the process that holds a scheduler and workers on this machine
    pool              pieces in, results out: in order, or as they come
    task              what runs on a worker: whether it is still wanted, what it has to say
    worker_check      what has to be the same on all machines
    worker_cache      what a worker makes ready once, for many pieces
    sampling          samples by their numbers, drawn by workers
    scoring           pieces of a text, scored by workers

Dask is an extra, imported when a cluster is opened, and by nothing else.
"""
