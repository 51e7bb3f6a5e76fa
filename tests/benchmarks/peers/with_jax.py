"""One training step of the same network in JAX, compiled: scan over time, clip and Adam by hand.

PYTHON with_jax.py SYMBOLS HIDDEN LANES STEPS tanh|gru|lstm
"""

import json
import statistics
import sys
import time

import jax
import jax.numpy as jnp

symbols, hidden, lanes, steps = map(int, sys.argv[1:5])
cell = sys.argv[5]
gates = {"tanh": 1, "gru": 3, "lstm": 4}[cell]
keys = jax.random.split(jax.random.key(0), 4)
orthogonal = jax.random.orthogonal(keys[1], hidden, shape=(gates,))
p = {
    "U": 0.1 * jax.random.normal(keys[0], (symbols, gates * hidden)),
    "W": jnp.concatenate(orthogonal, axis=1),
    "V": 0.1 * jax.random.normal(keys[2], (hidden, symbols)),
    "b": jnp.zeros(gates * hidden),
    "d": jnp.zeros(hidden),
    "c": jnp.zeros(symbols),
}
x, y = jax.random.randint(keys[3], (2, steps, lanes), 0, symbols)


def loss(p):
    def tanh(h, a):
        h = jnp.tanh(a + h @ p["W"])
        return h, h

    def gru(h, a):
        wh = h @ p["W"]
        r, z = jnp.split(jax.nn.sigmoid(a[:, : 2 * hidden] + wh[:, : 2 * hidden]), 2, axis=1)
        n = jnp.tanh(a[:, 2 * hidden :] + r * (wh[:, 2 * hidden :] + p["d"]))
        h = n + z * (h - n)
        return h, h

    def lstm(state, a):
        h, c = state
        i, f, g, o = jnp.split(a + h @ p["W"], 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((lanes, hidden))
    advance = {"tanh": tanh, "gru": gru, "lstm": lstm}[cell]
    begun = (zeros, zeros) if cell == "lstm" else zeros
    _, h = jax.lax.scan(advance, begun, p["U"][x] + p["b"])
    log_y = jax.nn.log_softmax(h @ p["V"] + p["c"])
    return -jnp.take_along_axis(log_y, y[..., None], axis=-1).mean()


@jax.jit
def step(p, m, v, t):
    g = jax.grad(loss)(p)
    norm = jnp.sqrt(sum(jnp.sum(d * d) for d in g.values()))
    g = {k: d * jnp.minimum(1.0, 5.0 / (norm + 1e-6)) for k, d in g.items()}
    m = {k: 0.9 * m[k] + 0.1 * g[k] for k in p}
    v = {k: 0.999 * v[k] + 0.001 * g[k] ** 2 for k in p}
    rate = 0.001 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    return {k: p[k] - rate * m[k] / (jnp.sqrt(v[k]) + 1e-8) for k in p}, m, v


m = v = {k: jnp.zeros_like(a) for k, a in p.items()}
seconds = []
for t in range(1, 31):
    began = time.perf_counter()
    p, m, v = jax.block_until_ready(step(p, m, v, float(t)))
    seconds.append(time.perf_counter() - began)
rate = steps * lanes / statistics.median(seconds[5:])
print(json.dumps({"library": f"jax {jax.__version__}", "characters_per_second": rate}))
