/* A model in plain JavaScript: random numbers, draws and scores. It needs network.js.

   See sampling/draws.py, sampling/sampler.py and scoring/scorer.py. */
"use strict";
const charrnn = (() => {
  const { END, CELLS, HEADS, bytesOf, readNetwork, Stepper } = network;
  const UNKNOWN = 1;
  const SCALARS = 1112064; // characters that Unicode has room for
  const REACH = 1 << 17; // symbols of a prime that are read: the last ones

  // Random numbers by key and step: SplitMix64.
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

  function rint(x) { // the nearest integer; of two, the even one
    const near = Math.round(x);
    return near - x === 0.5 && near % 2 !== 0 ? near - 1 : near;
  }
  const inUnits = (nats) => rint(nats * 2 ** 40) * 2 ** -40;
  function logaddexp(x, y) {
    if (x === y) return x + Math.LN2;
    const d = x - y;
    return d > 0 ? x + Math.log1p(Math.exp(-d)) : y + Math.log1p(Math.exp(d));
  }

  /* Draws a symbol from logits: temperature first, then top-k and top-p. */
  class Choice {
    constructor(K, { temperature = 1, topK = null, topP = null } = {}) {
      this.temperature = temperature && Math.max(temperature, 1e-100);
      this.topK = topK === null || topK >= K - 1 ? null : topK;
      this.topP = topP === null || topP >= 1 ? null : topP;
      this.o = new Float64Array(K);
      this.weights = new Float64Array(K);
      this.tickets = new Float64Array(K); // the sums of the weights up to each symbol
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
    draw(chance) { // returns the symbol; its cost is left in nats
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
      this.knownNats = -Math.log1p(-novelty); // the cost of not being a new character
      this.unseenNats = Math.log(Math.max(1, SCALARS - codes.length));
      this.logNovelty = novelty ? Math.log(novelty) : -Infinity;
      this.stepper = new Stepper(this.net);
    }
    asRead(text) { // as the corpus was read
      if (this.facts.newlines === "translate") text = text.replace(/\r\n?/g, "\n");
      return this.facts.normalize === "none" ? text : text.normalize(this.facts.normalize);
    }
    encode(text) {
      return Array.from(text, (character) => this.ids.get(character.codePointAt(0)) ?? UNKNOWN);
    }
    /* Yields a text by characters: {text, nats, ended}. The last one states how the text ended:
       by its "end", or by the "limit" of maxCharacters. The prime is not part of the text. */
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
        const ended = step + 1 >= maxCharacters ? "limit" : null;
        yield { text: this.characters[x], nats, ended };
        if (ended) return;
      }
    }
    /* The same text as a whole: {text, nats, ended}, with the sum of the nats. */
    sample(settings = {}) {
      const whole = { text: "", nats: 0, ended: null };
      for (const { text, nats, ended } of this.stream(settings)) {
        whole.text += text;
        whole.nats += nats;
        whole.ended = ended;
      }
      return whole;
    }
    /* The cost of each symbol in nats (K) under these logits. */
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
    /* The cost in nats of each character of a text and of its end. */
    score(text) {
      const stepper = new Stepper(this.net), state = stepper.zeros();
      const ids = [...this.encode(this.asRead(text)), END];
      return ids.map((y, i) => this.costs(stepper.step(i ? ids[i - 1] : END, state, i))[y]);
    }
  }

  return { END, UNKNOWN, CELLS, HEADS, keyOf, uniform, bytesOf, Stepper, Model };
})();
