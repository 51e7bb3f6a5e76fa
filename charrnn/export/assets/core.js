/* A model of charrnn in plain JavaScript: its numbers, its steps, its chances, its draws.

   Each step is charrnn's own arithmetic in the same order: see network/stepper.py, network/cells,
   network/heads, sampling/filters.py and sampling/random_stream.py. Numbers and states are on a
   grid, so no sum of a product is rounded, and a text that is drawn here is the text that is drawn
   there. K symbols, H units. */
"use strict";
const charrnn = (() => {
  const END = 0, UNKNOWN = 1;
  const SCALARS = 1112064; // how many characters Unicode has room for
  const REACH = 1 << 17; // symbols of a prime that are read, the last ones

  // Random numbers that are looked up: SplitMix64, begun at a key.
  const GAMMA = 0x9E3779B97F4A7C15n;
  const u64 = (z) => z & 0xFFFFFFFFFFFFFFFFn; // BigInt.asUintN is wrong below 0 in some engines
  function mix(z) {
    z = u64((z ^ (z >> 30n)) * 0xBF58476D1CE4E5B9n);
    z = u64((z ^ (z >> 27n)) * 0x94D049BB133111EBn);
    return z ^ (z >> 31n);
  }
  function keyOf(seed, parts) {
    let word = u64(BigInt(seed));
    for (const part of parts) word = mix(u64(word + GAMMA)) ^ u64(BigInt(part));
    return mix(u64(word + GAMMA));
  }
  const uniform = (key, step) => Number(mix(u64(key + BigInt(step + 1) * GAMMA)) >> 12n) * 2 ** -52;

  function rint(x) { // the nearest whole number; of two, the even one
    const near = Math.round(x);
    return near - x === 0.5 && near % 2 !== 0 ? near - 1 : near;
  }
  const inUnits = (nats) => rint(nats * 2 ** 40) * 2 ** -40;
  const largeFor = (bits) => 1.5 * 2 ** (52 - bits);
  const SETTLED = largeFor(14);
  const settles = (index) => index % 64 === 63;
  function snap(states, large) {
    for (const h of states) for (let i = 0; i < h.length; i++) h[i] = h[i] + large - large;
  }

  function logaddexp(x, y) {
    if (x === y) return x + Math.LN2;
    const d = x - y;
    return d > 0 ? x + Math.log1p(Math.exp(-d)) : y + Math.log1p(Math.exp(d));
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

  /* Cells: from b + U x and W h to the states after, in the place of those before.
     ownBias: how many gates, the last, have a bias d for W h. */
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

  /* Heads: from the outputs o (K) to the logits, in their place. */
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

  /* The numbers, as baking.py laid them out. */
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
    if (at !== bytes.length) throw new Error("the numbers are cut short, or too many");
    const [U] = net.U, [b] = net.b; // x is one-hot: U x is a row, and b can be in it
    for (let i = 0; i < U.length; i++) U[i] += b[i % columns];
    net.large = largeFor(Math.floor((53 - (32 - Math.clz32(H - 1))) / 2));
    return net;
  }

  /* y = M x, M (rows, n), four rows at a time. Every sum is exact, so their order is free. */
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

  /* One step after another. A state is a list of arrays (H): each layer's h, and its c if it has. */
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
    read(x, state, index) { // x is the index-th symbol of its text, the first END being the 0th
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
    step(x, state, index) { // the logits of what comes next (K), in an array that every step fills
      const { head, cell, V, c } = this.net, o = this.o;
      this.read(x, state, index);
      product(V, state[state.length - cell.states], o);
      for (let k = 0; k < o.length; k++) o[k] += c[k]; // (10.10)
      head(o);
      return o;
    }
  }

  /* From logits to the symbol that is drawn: temperature, then the likeliest. */
  class Choice {
    constructor(K, { temperature = 1, topK = null, topP = null } = {}) {
      this.temperature = temperature && Math.max(temperature, 1e-100);
      this.topK = topK === null || topK >= K - 1 ? null : topK;
      this.topP = topP === null || topP >= 1 ? null : topP;
      this.o = new Float64Array(K);
      this.weights = new Float64Array(K);
      this.tickets = new Float64Array(K); // of this symbol and those before it
    }
    prepare(logits) {
      const { o, weights, tickets, temperature } = this, K = o.length;
      o.set(logits);
      const unknown = o[UNKNOWN];
      o[UNKNOWN] = -Infinity;
      let most = -Infinity, sum = 0;
      for (let k = 0; k < K; k++) if (o[k] > most) most = o[k];
      for (let k = 0; k < K; k++) sum += weights[k] = Math.exp(o[k] -= most);
      this.logSum = logaddexp(Math.log(sum), unknown - most);
      if (temperature === 0) {
        weights.fill(0);
        weights[o.indexOf(0)] = 1;
      } else if (temperature !== 1) {
        for (let k = 0; k < K; k++) weights[k] = Math.exp(o[k] / temperature);
      }
      if (this.topK !== null || this.topP !== null) this.keepTheTop();
      for (let k = 0, all = 0; k < K; k++) tickets[k] = all += weights[k];
    }
    keepTheTop() {
      const { weights, topK, topP } = this;
      const order = Array.from(weights.keys()).sort((i, j) => weights[j] - weights[i]); // stable
      if (topK !== null) for (const k of order.slice(topK)) weights[k] = 0;
      if (topP === null) return;
      const reached = [];
      let sum = 0;
      for (const k of order) reached.push(sum += weights[k]);
      for (let i = 1; i < order.length; i++) if (reached[i - 1] >= topP * sum) weights[order[i]] = 0;
    }
    draw(chance) { // the symbol; what it cost is left in nats
      const { tickets, o } = this, ticket = chance * tickets[tickets.length - 1];
      let k = 0;
      while (k < tickets.length - 1 && !(tickets[k] > ticket)) k++;
      this.nats = this.logSum - o[k];
      return k;
    }
  }

  class Model {
    constructor(facts, bytes) {
      const { codes, novelty } = facts;
      this.facts = facts;
      this.net = readNetwork(facts, bytes);
      this.characters = ["", "", ...codes.map((code) => String.fromCodePoint(code))];
      this.ids = new Map(codes.map((code, i) => [code, i + 2]));
      this.knownNats = -Math.log1p(-novelty); // what being no new character costs
      this.unseenNats = Math.log(Math.max(1, SCALARS - codes.length));
      this.logNovelty = novelty ? Math.log(novelty) : -Infinity;
      this.stepper = new Stepper(this.net);
    }
    asRead(text) { // as a text of the corpus was read
      if (this.facts.newlines === "translate") text = text.replace(/\r\n?/g, "\n");
      return this.facts.normalize === "none" ? text : text.normalize(this.facts.normalize);
    }
    encode(text) {
      return Array.from(text, (character) => this.ids.get(character.codePointAt(0)) ?? UNKNOWN);
    }
    /* A text, a character at a time: {text, nats, ended}. The last says how it ended: at its
       "end", or at the "limit" of maxCharacters. The prime is none of it. */
    *stream({ seed = 0, number = 0, attempt = 0, prime = "", maxCharacters = 2000, ...how } = {}) {
      const choice = new Choice(this.net.K, how), key = keyOf(seed, [number, attempt]);
      const stepper = new Stepper(this.net), state = stepper.zeros();
      const read = [END, ...this.encode(this.asRead(prime))], last = read.length - 1;
      for (let i = Math.max(0, read.length - REACH); i < last; i++) stepper.read(read[i], state, i);
      let x = read[last];
      for (let step = 0; ; step++) {
        choice.prepare(stepper.step(x, state, last + step));
        x = choice.draw(uniform(key, step));
        const nats = inUnits(choice.nats + this.knownNats);
        if (x === END) return yield { text: "", nats, ended: "end" };
        const ended = step + 1 === maxCharacters ? "limit" : null;
        yield { text: this.characters[x], nats, ended };
        if (ended) return;
      }
    }
    /* The same text, whole: {text, nats, ended}, nats being the sum. */
    sample(settings = {}) {
      const whole = { text: "", nats: 0, ended: null };
      for (const { text, nats, ended } of this.stream(settings)) {
        whole.text += text;
        whole.nats += nats;
        whole.ended = ended;
      }
      return whole;
    }
    /* What each symbol would cost, in nats (K), where these are the logits. */
    costs(logits) {
      const known = logits.filter((_, k) => k !== UNKNOWN);
      let most = -Infinity, sum = 0;
      for (const o of known) if (o > most) most = o;
      for (const o of known) sum += Math.exp(o - most);
      const all = logaddexp(Math.log(sum), logits[UNKNOWN] - most);
      const costs = logits.map((o) => inUnits(all - (o - most) + this.knownNats));
      const unknown = all - (logits[UNKNOWN] - most) + this.knownNats;
      costs[UNKNOWN] = inUnits(this.unseenNats - logaddexp(-unknown, this.logNovelty));
      return costs;
    }
    /* What each character of a text costs, and its end, in nats. */
    score(text) {
      const stepper = new Stepper(this.net), state = stepper.zeros();
      const ids = [...this.encode(this.asRead(text)), END];
      return ids.map((y, i) => this.costs(stepper.step(i ? ids[i - 1] : END, state, i))[y]);
    }
  }

  return { END, UNKNOWN, CELLS, HEADS, keyOf, uniform, bytesOf, Stepper, Model };
})();
