"""One BLAS thread, as in the program; Hypothesis without deadlines: busy is not broken."""

from hypothesis import settings

from charrnn.cli.threads import prepare

prepare()  # before anything imports numpy
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
