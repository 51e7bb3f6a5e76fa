"""Products in panels."""

import numpy as np
import pytest

from charrnn.network.products import Product, sum_by_symbol


@pytest.mark.parametrize("hidden", [5, 16, 48, 80, 256])
@pytest.mark.parametrize("gates", [1, 3])
def test_panels_multiply_as_the_whole_matrices_do(hidden: int, gates: int) -> None:
    rng = np.random.default_rng(0)
    rows, matrices = rng.standard_normal((4, hidden)), rng.standard_normal((gates, hidden, hidden))
    product = Product((gates,), 4, hidden, np.float64)
    product.hold(matrices)
    np.testing.assert_allclose(product(rows), rows @ matrices, rtol=1e-9, atol=1e-9)
    each = rng.standard_normal((gates, 4, hidden))
    expected = each @ matrices
    expected[:, 2] = 0
    np.testing.assert_allclose(product(each[:, None], [2]), expected, rtol=1e-9, atol=1e-9)
    single = Product((), 4, hidden, np.float64)
    single.hold(matrices[0])
    np.testing.assert_allclose(single(rows), rows @ matrices[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("symbols", [7, 3000])  # by a product, or in runs
@pytest.mark.parametrize("gates", [1, 3])
@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_rows_are_summed_by_their_symbol(symbols: int, gates: int, at_once: int) -> None:
    rng = np.random.default_rng(0)
    d_a, x = rng.standard_normal((gates, 2000, 5)), rng.integers(0, symbols, 2000).astype(np.uint16)
    found = rng.standard_normal((symbols, gates * 5))
    sum_by_symbol(list(d_a), x, found, np.empty((at_once, 2000, 5)))
    expected = np.zeros((symbols, gates * 5))
    np.add.at(expected, x, np.concatenate(d_a, 1))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
