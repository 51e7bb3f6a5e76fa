/* A network in plain JavaScript: numbers, cells, heads and a stepper.

   Each step is charrnn's own arithmetic in the same order: see network/stepper.py, network/cells
   and network/heads. Weights and states are on a grid, so no sum is rounded, and both programs
   draw the same texts. K symbols, H units, L layers. */
"use strict";
const network = (() => {
  const END = 0;

  const largeFor = (bits) => 1.5 * 2 ** (52 - bits);
  const SETTLED = largeFor(14);
  const settles = (index) => index % 64 === 63;
  function snap(states, large) {
    for (const h of states) for (let i = 0; i < h.length; i++) h[i] = h[i] + large - large;
  }

  function bytesOf(base64) {
    const value = new Uint8Array(128);
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".split("").forEach(
      (letter, i) => { value[letter.charCodeAt(0)] = i; });
    let length = base64.length;
    while (length && base64[length - 1] === "=") length--;
    const bytes = new Uint8Array(Math.floor(length * 3 / 4));
    for (let i = 0, at = 0; at < bytes.length; i += 4) {
      const [a, b, c, d] = [0, 1, 2, 3].map((j) => value[base64.charCodeAt(i + j)]);
      bytes[at++] = (a << 2) | (b >> 4);
      bytes[at++] = (b << 4) | (c >> 2);
      bytes[at++] = (c << 6) | d;
    }
    return bytes;
  }

  /* Cells: compute the new states, in place, from b + U x and W h.
     ownBias: the number of gates, the last ones, whose W h has a bias d. */
  const sigmoid = (a) => Math.tanh(a * 0.5) * 0.5 + 0.5;
  const CELLS = {
    tanh: {
      gates: 1, states: 1, ownBias: 0,
      step([h], ux, wh) {
        for (let i = 0; i < h.length; i++) h[i] = Math.tanh(ux[i] + wh[i]); // (10.8), (10.9)
      },
    },
    gru: {
      gates: 3, states: 1, ownBias: 1,
      step([h], ux, wh) {
        const H = h.length;
        for (let i = 0; i < H; i++) {
          const r = sigmoid(ux[i] + wh[i]), z = sigmoid(ux[H + i] + wh[H + i]);
          const n = Math.tanh(ux[2 * H + i] + r * wh[2 * H + i]);
          h[i] = (h[i] - n) * z + n;
        }
      },
    },
    lstm: {
      gates: 4, states: 2, ownBias: 0,
      step([h, c], ux, wh) {
        const H = h.length;
        for (let i = 0; i < H; i++) {
          const input = sigmoid(ux[i] + wh[i]), forget = sigmoid(ux[H + i] + wh[H + i]);
          const g = Math.tanh(ux[2 * H + i] + wh[2 * H + i]);
          c[i] = forget * c[i] + input * g;
          h[i] = sigmoid(ux[3 * H + i] + wh[3 * H + i]) * Math.tanh(c[i]);
        }
      },
    },
  };

  /* Heads: turn the outputs o (K) into logits, in place. */
  const HEADS = {
    symbol() {},
    halt(o) {
      let most = -Infinity, sum = 0;
      for (let k = END + 1; k < o.length; k++) if (o[k] > most) most = o[k];
      for (let k = END + 1; k < o.length; k++) sum += Math.exp(o[k] -= most);
      const log = Math.log(sum);
      for (let k = END + 1; k < o.length; k++) o[k] -= log;
    },
  };

  /* The numbers, in the layout of export/js.py. */
  function readNetwork(facts, bytes) {
    const { symbols: K, hidden: H, layers: L, bits } = facts;
    const cell = CELLS[facts.cell], head = HEADS[facts.head];
    if (!cell || !head) throw new Error(`no cell ${facts.cell} or no head ${facts.head} here`);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    const vector = (n) => {
      const out = new Float64Array(n);
      for (let i = 0; i < n; i++, at += 4) out[i] = view.getFloat32(at, true);
      return out;
    };
    const matrix = (rows, columns) => {
      if (bits === 32) return vector(rows * columns);
      const out = new Float64Array(rows * columns);
      for (let i = 0; i < rows; i++) {
        const step = 2 ** view.getInt16(at, true);
        at += 2;
        for (let j = 0; j < columns; j++, at += bits / 8) {
          out[i * columns + j] = step * (bits === 16 ? view.getInt16(at, true) : view.getInt8(at));
        }
      }
      return out;
    };
    const net = { K, H, L, cell, head, U: [], W: [], b: [], d: [] };
    const columns = cell.gates * H;
    for (let layer = 0; layer < L; layer++) {
      net.U.push(layer ? matrix(columns, H) : matrix(K, columns));
      net.W.push(matrix(columns, H));
      net.b.push(vector(columns));
      net.d.push(vector(cell.ownBias * H));
    }
    net.V = matrix(K, H);
    net.c = vector(K);
    if (at !== bytes.length) throw new Error(`${bytes.length} bytes of numbers, not ${at}`);
    const [U] = net.U, [b] = net.b; // x is one-hot: U x is a row, to which b is added here
    for (let i = 0; i < U.length; i++) U[i] += b[i % columns];
    net.large = largeFor(Math.floor((53 - (32 - Math.clz32(H - 1))) / 2));
    return net;
  }

  /* y = M x, M (rows, n), four rows at a time. Every sum is exact, so its order is free. */
  function product(M, x, y) {
    const rows = y.length, n = x.length;
    let i = 0;
    for (; i + 3 < rows; i += 4) {
      const a = i * n, b = a + n, c = b + n, d = c + n;
      let s = 0, t = 0, u = 0, v = 0;
      for (let j = 0; j < n; j++) {
        const xj = x[j];
        s += M[a + j] * xj;
        t += M[b + j] * xj;
        u += M[c + j] * xj;
        v += M[d + j] * xj;
      }
      y[i] = s;
      y[i + 1] = t;
      y[i + 2] = u;
      y[i + 3] = v;
    }
    for (; i < rows; i++) {
      let s = 0;
      for (let j = 0; j < n; j++) s += M[i * n + j] * x[j];
      y[i] = s;
    }
  }

  /* One step at a time. A state is a list of arrays (H): the h of each layer, and its c if any. */
  class Stepper {
    constructor(net) {
      this.net = net;
      this.ux = new Float64Array(net.cell.gates * net.H);
      this.wh = new Float64Array(net.cell.gates * net.H);
      this.o = new Float64Array(net.K);
    }
    zeros() {
      const { cell, H, L } = this.net;
      return Array.from({ length: L * cell.states }, () => new Float64Array(H));
    }
    read(x, state, index) { // x is symbol number `index` of its text; the first END is number 0
      const { cell, H, L, U, W, b, d, large } = this.net;
      const { ux, wh } = this, each = cell.states, columns = ux.length;
      for (let layer = 0; layer < L; layer++) {
        const own = state.slice(layer * each, layer * each + each);
        if (layer) {
          product(U[layer], state[(layer - 1) * each], ux);
          for (let i = 0; i < columns; i++) ux[i] += b[layer][i];
        } else {
          ux.set(U[0].subarray(x * columns, x * columns + columns));
        }
        product(W[layer], own[0], wh);
        const first = columns - cell.ownBias * H;
        for (let i = first; i < columns; i++) wh[i] += d[layer][i - first];
        cell.step(own, ux, wh);
        snap(own, large);
        if (settles(index)) snap(own, SETTLED);
      }
    }
    step(x, state, index) { // the logits of the next symbol (K), in an array that every step reuses
      const { head, cell, V, c } = this.net, o = this.o;
      this.read(x, state, index);
      product(V, state[state.length - cell.states], o);
      for (let k = 0; k < o.length; k++) o[k] += c[k]; // (10.10)
      head(o);
      return o;
    }
  }

  return { END, CELLS, HEADS, bytesOf, readNetwork, Stepper };
})();
