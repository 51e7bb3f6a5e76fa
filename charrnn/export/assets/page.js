/* The page around the model. Text of the model and its user enters the page as text, never as
   markup. */
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const facts = JSON.parse($("facts").textContent);
  const model = new charrnn.Model(facts, charrnn.bytesOf($("numbers").textContent));
  const { BITS, element, visible, bySurprise, byState, coloured, paint } = colouring(facts);
  const SLICE = 12; // milliseconds of work before the browser may react
  const SELDOM = 250; // milliseconds between two repaints of a long text that is being read
  const ATTEMPTS = 101, IN_VAIN = 10; // as in sampling/sampler.py
  const MOST = 1000; // texts

  const breath = () => new Promise((resolve) => setTimeout(resolve));
  const counted = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;
  function within(input, otherwise) { // the integer in a field, within its limits
    const n = Math.floor(Number(input.value)) || otherwise;
    return Math.max(Number(input.min), Math.min(Number(input.max), n));
  }

  function named(id) {
    const character = model.characters[id];
    if (id === charrnn.END) return "end";
    if (character === " ") return "space";
    if (character === "\n") return "newline";
    if (!/^[\p{Z}\p{C}\p{M}]$/u.test(character)) return character;
    return "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  }

  // Texts not to draw: the Bloom filter made by export/html.py.
  const known = facts.novel && charrnn.bytesOf(facts.novel.bits);
  function isKnown(text) {
    const key = charrnn.keyOf(0, Array.from(text, (character) => character.codePointAt(0)));
    const first = Number(key & 0xFFFFFFFFn), step = Number(key >> 32n | 1n);
    for (let i = 0; i < facts.novel.hashes; i++) {
      const at = (first + i * step) % (8 * known.length);
      if (!(known[at >> 3] >> (at & 7) & 1)) return false;
    }
    return true;
  }

  // Writing.
  let texts = [], writing = 0;
  function requested() {
    return {
      temperature: Number($("temperature").value),
      prime: model.asRead($("prime").value),
      seed: (BigInt($("seed").value.replace(/\D/g, "") || "0") & 0xFFFFFFFFFFFFFFFFn).toString(),
      count: within($("count"), 1),
      maxCharacters: facts.maxCharacters,
      novel: Boolean(known) && $("novel").checked,
    };
  }
  function showCommand(q) {
    const quoted = (text) => "'" + text.replace(/'/g, "'\\''") + "'";
    const word = (text) => /^[\w.+-]+$/.test(text) ? text : quoted(text);
    const words = ["charrnn sample", `-m ${word(facts.model)}`, `-n ${q.count}`, `-t ${q.temperature}`];
    if (q.prime) words.push(`--prime=${quoted(q.prime)}`);
    if (q.novel) words.push("--novel CORPUS");
    if (facts.use) words.push(`--use ${facts.use}`);
    $("command").textContent = visible([...words, `--seed ${q.seed}`].join(" "));
  }
  function remember(q) {
    const settings = { t: q.temperature, s: q.seed, n: q.count, p: q.prime };
    if (known) settings.novel = Number(q.novel);
    const hash = "#" + new URLSearchParams(settings);
    try {
      history.replaceState(null, "", hash);
    } catch { /* not allowed in a frame */ }
    return hash;
  }
  function recall() {
    const q = new URLSearchParams(location.hash.slice(1));
    const put = (key, id, pattern) => {
      if (pattern.test(q.get(key) ?? "-")) $(id).value = q.get(key);
    };
    put("t", "temperature", /^\d+(\.\d*)?$/);
    put("s", "seed", /^\d{1,20}$/);
    put("n", "count", /^\d{1,4}$/);
    if (q.has("p")) $("prime").value = q.get("p");
    if (q.has("novel")) $("novel").checked = q.get("novel") !== "0";
  }
  async function write() {
    const mine = ++writing, q = requested(), list = $("samples");
    showTemperature();
    showCommand(q);
    remember(q);
    texts = [];
    list.setAttribute("aria-busy", "true");
    $("said").textContent = "";
    let since = performance.now(), inVain = 0, lost = 0;
    let number = 0;
    for (; number < q.count && inVain < IN_VAIN; number++) {
      const item = number < list.children.length ? list.children[number] : newItem(list);
      let said = "", isWanted = false, ended = null;
      for (let attempt = 0; attempt < ATTEMPTS && !isWanted; attempt++) {
        said = q.prime;
        for (const piece of model.stream({ ...q, number, attempt })) {
          said += piece.text;
          ended = piece.ended;
          if (performance.now() - since > SLICE) {
            if (!q.novel) show(item, said, null);
            await breath();
            if (writing !== mine) return;
            since = performance.now();
          }
        }
        isWanted = !q.novel || !isKnown(said);
      }
      inVain = isWanted ? 0 : inVain + 1;
      lost += !isWanted;
      show(item, isWanted ? said : "", ended, !isWanted);
      if (isWanted) texts.push(said);
      if (number === 0 && isWanted && !$("typed").value && !typing) read(said);
    }
    while (list.children.length > number) list.lastChild.remove();
    list.removeAttribute("aria-busy");
    const unseen = new Set(Array.from(q.prime).filter((c) => !model.ids.has(c.codePointAt(0))));
    const notes = [];
    if (lost) notes.push(`${counted(lost, "text")} given up: every attempt is in the corpus`);
    if (unseen.size) notes.push(`not in the vocabulary, read as unknown: ${visible([...unseen].join(" "))}`);
    $("said").textContent = notes.join("; ");
  }
  function newItem(list) {
    const item = element("li"), row = element("div", "sample");
    const button = element("button", "read", "Read");
    button.type = "button";
    button.setAttribute("aria-label", `Read text ${list.children.length + 1} in colours`);
    row.append(element("span", "text"), button);
    item.append(row);
    list.append(item);
    return item;
  }
  function show(item, text, ended, isLost = false) {
    const shown = item.querySelector(".text");
    item.classList.toggle("lost", isLost);
    shown.classList.toggle("cut", ended === "limit");
    shown.textContent = isLost ? "given up" : visible(text);
    item.said = isLost ? "" : text;
  }
  const showTemperature = () => {
    $("temperature-said").textContent = Number($("temperature").value).toFixed(2);
  };

  // Reading. States are kept every few characters, so a key press costs few steps.
  const EVERY = 32;
  const reader = new charrnn.Stepper(model.net);
  let before = { ids: [], nats: [], states: [], units: [] }, reading = 0, typing = false;
  function read(text) {
    if (text !== undefined) $("typed").value = text;
    return readOn();
  }
  async function readOn() {
    const mine = ++reading, text = model.asRead($("typed").value), ids = model.encode(text);
    $("field").classList.toggle("apart", text !== $("typed").value || visible(text) !== text);
    let same = 0;
    while (same < ids.length && same < before.ids.length && ids[same] === before.ids[same]) same++;
    const kept = Math.min(Math.floor(same / EVERY), Math.max(0, before.states.length - 1));
    const now = {
      ids,
      states: before.states.slice(0, kept + 1),
      nats: before.nats.slice(0, kept * EVERY),
      units: before.units.slice(0, Math.max(0, kept * EVERY - 1)),
    };
    const state = kept ? now.states[kept].map((h) => h.slice()) : reader.zeros();
    let costs, since = performance.now(), seen = 0; // the time of the last repaint
    for (let i = kept * EVERY; i <= ids.length; i++) {
      if (i % EVERY === 0) now.states[i / EVERY] = state.map((h) => h.slice());
      costs = model.costs(reader.step(i ? ids[i - 1] : charrnn.END, state, i));
      if (i) now.units.push(unitsOf(state));
      if (i < ids.length) now.nats.push(costs[ids[i]]);
      if (performance.now() - since > SLICE) {
        if (performance.now() - seen > SELDOM) {
          recolour(now);
          seen = performance.now();
        }
        await breath();
        if (reading !== mine) return;
        since = performance.now();
      }
    }
    before = now;
    recolour(now);
    showNext(costs);
    const bits = now.nats.reduce((sum, nats) => sum + nats, 0) * BITS;
    const unseen = ids.filter((id) => id === charrnn.UNKNOWN).length;
    $("cost").textContent = !ids.length ? "" : `${counted(ids.length, "character")}, `
      + `${bits.toFixed(1)} bits: ${(bits / ids.length).toFixed(2)} each. Ending here costs `
      + `${(costs[charrnn.END] * BITS).toFixed(1)} more.`
      + (unseen ? ` ${counted(unseen, "character")} not in the vocabulary.` : "");
  }
  function unitsOf(state) { // h of every layer
    const { L, H, cell } = model.net, units = new Float32Array(L * H);
    for (let layer = 0; layer < L; layer++) units.set(state[layer * cell.states], layer * H);
    return units;
  }
  function recolour(read) {
    const text = model.asRead($("typed").value), isUnit = $("by").value === "unit";
    const at = (within($("layer"), 1) - 1) * model.net.H + within($("unit"), 1) - 1;
    const values = isUnit ? read.units.map((units) => units[at]) : read.nats;
    for (const id of ["unit-choice", "unit-legend"]) $(id).hidden = !isUnit;
    $("legend").hidden = isUnit;
    paint($("mirror"), coloured(text, values, isUnit ? byState : bySurprise));
  }

  const percent = (p) =>
    p < 0.0005 ? "<0.1 %" : (100 * p).toFixed(p < 0.0995 || p >= 0.995 ? 1 : 0) + " %";

  // Next characters: the ten buttons stay in place, so they can be pressed repeatedly.
  function showNext(costs) {
    const order = Array.from(costs.keys()).filter((id) => id !== charrnn.UNKNOWN)
      .sort((i, j) => costs[i] - costs[j]).slice(0, 10);
    const list = $("next");
    while (list.children.length < order.length) {
      const item = element("li"), button = element("button");
      button.type = "button";
      button.append(element("b"), " ", element("span"));
      item.append(button);
      list.append(item);
    }
    order.forEach((id, i) => {
      const button = list.children[i].firstChild, p = Math.exp(-costs[id]);
      button.firstChild.textContent = named(id);
      button.lastChild.textContent = percent(p);
      button.style.setProperty("--p", p);
      button.setAttribute("aria-disabled", id === charrnn.END);
      button.symbol = id;
    });
  }

  // Controls.
  async function copy(text, words, otherwise) {
    try {
      await navigator.clipboard.writeText(text);
      $("said").textContent = words;
    } catch { // not allowed everywhere
      getSelection().selectAllChildren(otherwise);
      $("said").textContent = "selected: press Ctrl+C to copy";
    }
  }
  let soon = 0;
  const writeSoon = () => { clearTimeout(soon); soon = setTimeout(write, 150); };
  $("form").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["temperature", "prime", "count", "seed", "novel"]) {
    $(id).addEventListener("input", () => { showTemperature(); writeSoon(); });
  }
  $("prime").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !model.ids.has(10)) event.preventDefault();
  });
  $("others").addEventListener("click", () => {
    $("seed").value = 1 + crypto.getRandomValues(new Uint32Array(1))[0] % 999999;
    write();
  });
  $("copy").addEventListener("click", () => {
    const gap = texts.some((text) => text.includes("\n")) ? "\n\n" : "\n";
    copy(texts.join(gap) + "\n", "copied", $("samples"));
  });
  $("link").addEventListener("click", () => {
    const link = location.href.split("#")[0] + remember(requested());
    copy(link, "link copied: it shows these texts", $("command"));
  });
  $("samples").addEventListener("click", (event) => {
    const item = event.target.closest("li"), button = event.target.closest("button");
    const isSelecting = !button && String(getSelection());
    if (!item || !item.said || isSelecting) return;
    read(item.said);
    $("read").scrollIntoView({ block: "start" });
    if (button) $("typed").focus({ preventScroll: true });
  });
  $("typed").addEventListener("input", () => { typing = true; readOn(); });
  $("typed").addEventListener("scroll", () => { $("mirror").scrollTop = $("typed").scrollTop; });
  for (const id of ["by", "layer", "unit"]) $(id).addEventListener("input", () => recolour(before));
  $("next").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button || button.symbol === charrnn.END) return;
    read($("typed").value + model.characters[button.symbol]);
    $("typed").scrollTop = $("typed").scrollHeight;
  });
  $("go-on").addEventListener("click", () => {
    $("prime").value = $("typed").value;
    write();
    $("write").scrollIntoView({ block: "start" });
  });
  addEventListener("hashchange", () => { recall(); write(); });

  $("waiting").remove();
  $("novel-choice").hidden = !known;
  $("not-quite").hidden = facts.bits === 32;
  $("layer-choice").hidden = facts.layers === 1;
  recall();
  write();
  readOn();
})();
