"""Products in panels."""

import numpy as np
import pytest

from charrnn.network.products import Product


@pytest.mark.parametrize("hidden", [5, 16, 48, 80, 256])
@pytest.mark.parametrize("gates", [1, 3])
def test_panels_multiply_as_the_whole_matrices_do(hidden: int, gates: int) -> None:
    rng = np.random.default_rng(0)
    rows, matrices = rng.standard_normal((4, hidden)), rng.standard_normal((gates, hidden, hidden))
    product = Product((gates,), 4, hidden, hidden, np.float64)
    product.hold(matrices)
    np.testing.assert_allclose(product(rows), rows @ matrices, rtol=1e-9, atol=1e-9)
    each = rng.standard_normal((gates, 4, hidden))
    expected = each @ matrices
    expected[:, 2] = 0
    np.testing.assert_allclose(product(each[:, None], [2]), expected, rtol=1e-9, atol=1e-9)
    single = Product((), 4, hidden, hidden, np.float64)
    single.hold(matrices[0])
    np.testing.assert_allclose(single(rows), rows @ matrices[0], rtol=1e-9, atol=1e-9)
