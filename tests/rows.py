"""Rows of parametrised tests."""

from __future__ import annotations

from functools import partial

import pytest

seldom = partial(pytest.param, marks=pytest.mark.long)  # a row that runs only with --long
