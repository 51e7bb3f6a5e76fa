/* A model in plain JavaScript: numbers, cells, heads, draws and scores.

   K symbols, H units, L layers. See network/step.py, network/cells.py, network/readout.py and
   sampling.py: the same arithmetic in doubles draws the same texts. */
"use strict";
const charrnn = (() => {
  const END = 0, UNKNOWN = 1;
  const SCALARS = 1112064; // characters that Unicode has room for
  const ATTEMPTS = 101; // at one text: the first and a hundred more
  const MOST = 2000; // characters of a text without the prime
  const LABEL_STEP = 2 ** 49; // of the random number for a label

  function bytesOf(base64) {
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
  }
  function half(bits) { // the value of a 16-bit float
    const exponent = (bits >> 10) & 31, fraction = bits & 1023;
    const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
    return bits & 0x8000 ? -size : size;
  }

  /* Cells compute the new state of a unit, in place, from b + U x and W h. ownBias: the number of
     gates, the last ones, whose W h has a bias d. */
  const sigmoid = (a) => Math.tanh(a * 0.5) * 0.5 + 0.5;
  const CELLS = {
    tanh: { gates: 1, states: 1, ownBias: 0, unit(h, c, ux, wh, i) { // (10.8), (10.9)
      h[i] = Math.tanh(ux[i] + wh[i]);
    } },
    gru: { gates: 3, states: 1, ownBias: 1, unit(h, c, ux, wh, i) {
      const H = h.length, r = sigmoid(ux[i] + wh[i]), z = sigmoid(ux[H + i] + wh[H + i]);
      const n = Math.tanh(ux[2 * H + i] + r * wh[2 * H + i]);
      h[i] = (h[i] - n) * z + n;
    } },
    lstm: { gates: 4, states: 2, ownBias: 0, unit(h, c, ux, wh, i) {
      const H = h.length, input = sigmoid(ux[i] + wh[i]), forget = sigmoid(ux[H + i] + wh[H + i]);
      c[i] = forget * c[i] + input * Math.tanh(ux[2 * H + i] + wh[2 * H + i]);
      h[i] = sigmoid(ux[3 * H + i] + wh[3 * H + i]) * Math.tanh(c[i]);
    } },
  };

  function halt(o) { // END is a unit of its own beside a softmax of the others
    const most = o.subarray(1).reduce((x, y) => Math.max(x, y));
    let sum = 0;
    for (let k = 1; k < o.length; k++) sum += Math.exp(o[k] -= most);
    for (let k = 1, log = Math.log(sum); k < o.length; k++) o[k] -= log;
  }
  function product(M, x, y) { // y = M x
    const n = x.length;
    for (let i = 0; i < y.length; i++) {
      let sum = 0;
      for (let j = 0, at = i * n; j < n; j++) sum += M[at + j] * x[j];
      y[i] = sum;
    }
  }

  // Random numbers by key and step: SplitMix64.
  const GAMMA = 0x9E3779B97F4A7C15n;
  const u64 = (z) => z & 0xFFFFFFFFFFFFFFFFn;
  function mix(z) {
    z = u64((z ^ (z >> 30n)) * 0xBF58476D1CE4E5B9n);
    z = u64((z ^ (z >> 27n)) * 0x94D049BB133111EBn);
    return z ^ (z >> 31n);
  }
  function keyOf(seed, number, attempt) {
    let word = u64(BigInt(seed));
    for (const part of [number, attempt]) word = mix(u64(word + GAMMA)) ^ u64(BigInt(part));
    return mix(u64(word + GAMMA));
  }
  const uniform = (key, step) => Number(mix(u64(key + BigInt(step + 1) * GAMMA)) >> 12n) * 2 ** -52;
  function logaddexp(x, y) {
    const most = Math.max(x, y);
    return most === -Infinity ? most : most + Math.log1p(Math.exp(-Math.abs(x - y)));
  }

  const isText = (value) => typeof value === "string";
  const isSize = (value) => Number.isFinite(value) && value >= 0;
  const OPTIONS = { // and what a value has to be
    prime: isText, shortest: isSize, longest: isSize, temperature: isSize,
    seed: (value) => /^\d+$/.test(value) && !(typeof value === "number" && value >= 2 ** 53),
    number: (value) => Number.isSafeInteger(value) && value >= 0,
    unique: (value) => typeof value === "boolean", label: isText,
  };

  class Model {
    constructor(facts, bytes) {
      const { symbols: K, hidden: H, layers: L, codes, novelty } = facts;
      Object.assign(this, { facts, K, H, L, cell: CELLS[facts.cell] });
      this.labels = (facts.labels ?? []).map(([label]) => label);
      this.characters = ["", "", ...codes.map((code) => String.fromCodePoint(code))];
      this.ids = new Map(codes.map((code, i) => [code, i + 2]));
      this.knownNats = -Math.log1p(-novelty); // the cost of not being a new character
      this.unseenNats = Math.log(Math.max(1, SCALARS - codes.length));
      this.logNovelty = novelty ? Math.log(novelty) : -Infinity;

      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      let at = 0;
      const filled = (length, next) => Float64Array.from({ length }, next);
      const vector = (n) => filled(n, () => view.getFloat32((at += 4) - 4, true));
      const matrix = (n) => filled(n, () => half(view.getUint16((at += 2) - 2, true)));
      const columns = this.cell.gates * H;
      this.U = [], this.W = [], this.b = [], this.d = [];
      for (let layer = 0; layer < L; layer++) {
        this.U.push(matrix((layer ? H : K + this.labels.length) * columns));
        this.W.push(matrix(columns * H));
        this.b.push(vector(columns));
        this.d.push(vector(this.cell.ownBias * H));
      }
      this.V = matrix(K * H);
      this.c = vector(K);
      if (at !== bytes.length) throw new Error(`${bytes.length} bytes of numbers, not ${at}`);
      this.ux = new Float64Array(columns);
      this.wh = new Float64Array(columns);
    }
    asRead(text) { // as the corpus was read
      const lines = text.replace(/\r\n?/g, "\n");
      return this.facts.normalize === "none" ? lines : lines.normalize(this.facts.normalize);
    }
    encode(text) {
      return Array.from(text, (character) => this.ids.get(character.codePointAt(0)) ?? UNKNOWN);
    }
    idOf(label) { // END begins the texts of a model without labels
      const place = this.labels.indexOf(label);
      if (place >= 0) return this.K + place;
      if (!this.labels.length && label == null) return END;
      const names = this.labels.join(", ") || "none";
      throw new RangeError(`there is no label ${label}; there are ${names}`);
    }
    labelOf(seed, number) { // of a text: one is drawn by its frequency
      let sum = 0;
      const sums = (this.facts.labels ?? []).map(([, examples]) => (sum += examples));
      const lot = uniform(keyOf(seed, number, 0), LABEL_STEP) * sum;
      return this.labels[sums.findIndex((each) => each > lot)];
    }
    zeros() { // the h of each layer, and its c if any
      return Array.from({ length: this.L * this.cell.states }, () => new Float64Array(this.H));
    }
    step(x, state) { // moves the state on, and returns the logits of the next symbol (K)
      const { cell, H, ux, wh } = this, many = cell.states, columns = ux.length;
      for (let layer = 0; layer < this.L; layer++) {
        const [h, c] = state.slice(layer * many, layer * many + many);
        if (layer) product(this.U[layer], state[(layer - 1) * many], ux);
        else ux.set(this.U[0].subarray(x * columns, x * columns + columns));
        for (let i = 0; i < columns; i++) ux[i] += this.b[layer][i];
        product(this.W[layer], h, wh);
        const first = columns - cell.ownBias * H;
        for (let i = first; i < columns; i++) wh[i] += this.d[layer][i - first];
        for (let i = 0; i < H; i++) cell.unit(h, c, ux, wh, i);
      }
      const o = new Float64Array(this.K);
      product(this.V, state[state.length - many], o);
      for (let k = 0; k < o.length; k++) o[k] += this.c[k]; // (10.10)
      if (this.facts.head === "halt") halt(o);
      return o;
    }
    choose(logits, temperature, chance, isFirst) { // as Sampler._choose
      const sums = logits.map((o, k) => k === UNKNOWN || (isFirst && k === END) ? -Infinity : o);
      const most = sums.reduce((x, y) => Math.max(x, y));
      if (temperature === 0) return sums.indexOf(most);
      let sum = 0;
      for (let k = 0; k < sums.length; k++) {
        sums[k] = sum += Math.exp((sums[k] - most) / Math.max(temperature, 1e-100));
      }
      return Math.max(0, sums.findIndex((each) => each > chance * sum));
    }
    /* Yields the text that has been drawn so far, and returns {text, nats, ended, isRight}: it
       ended by its "end" or by the "limit", and is of a length that was asked for or not. */
    *attempt(options, attempt = 0) {
      const { shortest, longest, temperature, seed, number } = options;
      const prime = this.asRead(options.prime), begun = Array.from(prime).length;
      const limit = Math.min(MOST, longest - begun + 1), key = keyOf(seed, number, attempt);
      const state = this.zeros();
      let x = this.idOf(options.label ?? this.labelOf(seed, number));
      let text = prime, nats = 0, drawn = 0, ended = "limit";
      for (const y of this.encode(prime)) {
        nats += this.costs(this.step(x, state))[y];
        x = y;
      }
      while (drawn < limit && ended !== "end") {
        const logits = this.step(x, state), isFirst = !begun && !drawn && shortest > 0;
        x = this.choose(logits, temperature, uniform(key, drawn), isFirst);
        nats += this.costs(logits)[x];
        if (x === END) ended = "end";
        else {
          drawn++;
          yield text += this.characters[x];
        }
      }
      const isRight = begun + drawn >= shortest && (ended === "end" || longest === Infinity)
        && begun + drawn <= longest;
      return { text, nats, ended, isRight, characters: begun + drawn };
    }
    checked(options) { // the options of a text, all of them
      if (Object(options) !== options) {
        throw new TypeError(`options have names, such as { number: 5 }: ${options} has none`);
      }
      const names = Object.keys(OPTIONS).filter((name) => name !== "label" || this.labels.length);
      const whole = { prime: "", shortest: 1, longest: Infinity, temperature: 1, unique: false };
      Object.assign(whole, { seed: Math.floor(Math.random() * 2 ** 52), number: 0 });
      for (const [name, value] of Object.entries(options)) {
        if (!names.includes(name)) {
          throw new TypeError(`there is no option ${name}; there are ${names.join(", ")}`);
        }
        if (value === undefined) continue; // as if it were not there
        if (!OPTIONS[name](value)) throw new TypeError(`${name} cannot be ${value}`);
        whole[name] = value;
      }
      if (options.unique && options.seed === undefined) throw new TypeError("unique needs a seed");
      return whole;
    }
    /* A new text. Options: prime, which it begins with; shortest and longest, in characters;
       temperature; seed, and the number of the text for that seed; unique: it is no text of a
       number before; label, without which one is drawn by its frequency, if there are any. */
    sample(options = {}) {
      const whole = this.checked(options);
      const text = whole.unique ? this.uniqueTexts(whole)[whole.number] : this.draw(whole);
      if (text !== undefined) return text;
      const wanted = `such a length${whole.unique ? " and is new" : ""}`;
      throw new RangeError(`none of ${ATTEMPTS} attempts has ${wanted}`);
    }
    uniqueTexts({ number, ...others }) { // of all numbers up to this one; the last ones are kept
      const key = JSON.stringify(Object.values(others).map(String));
      if (this.kept?.key !== key) this.kept = { key, texts: [], taken: new Set() };
      const { texts, taken } = this.kept;
      while (texts.length <= number) {
        const text = this.draw({ ...others, number: texts.length }, taken);
        texts.push(text);
        taken.add(text);
      }
      return texts;
    }
    draw(whole, taken = new Set()) { // the first attempt of the right length that is not taken
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const steps = this.attempt(whole, attempt);
        let step = steps.next();
        while (!step.done) step = steps.next();
        const { isRight, text } = step.value;
        if (isRight && !taken.has(text)) return text;
      }
    }
    costs(logits) { // of each symbol in nats (K) under these logits
      const most = logits.reduce((x, y) => Math.max(x, y));
      const all = most + Math.log(logits.reduce((sum, o) => sum + Math.exp(o - most), 0));
      const costs = logits.map((o) => all - o + this.knownNats);
      costs[UNKNOWN] = this.unseenNats - logaddexp(-costs[UNKNOWN], this.logNovelty);
      return costs;
    }
    /* The cost in nats of each character of a text and of its end. */
    score(text, label) {
      const next = this.reader(label), ids = [...this.encode(this.asRead(text)), END];
      return ids.map((y, i) => next(i ? ids[i - 1] : END)[y]);
    }
    /* A function that reads the symbol before, at first END, and returns the cost of each symbol:
       with this label, or without one as the sum over all labels. */
    reader(label) {
      const labels = this.facts.labels ?? [[label, 1]]; // a model without any has one kind of text
      const some = labels.filter(([name]) => name === (label ?? name));
      const total = some.reduce((sum, [, examples]) => sum + examples, 0);
      if (!some.length) this.idOf(label);
      const kinds = some.map(([name, examples]) =>
        ({ x: this.idOf(name), state: this.zeros(), nats: Math.log(total / examples) }));
      let sums; // over the labels, of which each has its nats after the symbols so far
      return (before) => {
        for (const one of kinds) {
          if (before !== END) one.nats += one.costs[before] - sums[before];
          one.costs = this.costs(this.step(before === END ? one.x : before, one.state));
        }
        sums = Float64Array.from({ length: this.K }, (_, k) =>
          -kinds.map(({ nats, costs }) => -nats - costs[k]).reduce((x, y) => logaddexp(x, y)));
        return sums;
      };
    }
  }

  return { END, UNKNOWN, ATTEMPTS, bytesOf, Model };
})();
