/* The page around the model. Text of the model and its user enters the page as text, never as
   markup. */
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const facts = JSON.parse($("facts").textContent);
  const model = new charrnn.Model(facts, charrnn.bytesOf($("numbers").textContent));
  const SLICE = 12; // milliseconds of work before the browser may react
  const BEST_OF = 10, MOST_DRAWN = 100; // texts for each that is shown, as with sample --best
  const FAILURES = 10; // texts in a row of which no attempt is right: none will be
  const BITS = 1 / Math.LN2;

  const breath = () => new Promise((resolve) => setTimeout(resolve));
  const number = (id) => Math.max(0, Math.floor(Number($(id).value))) || undefined;
  function element(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }
  function row(act, properties, ...children) { // a button that does something, in a list
    const button = element("button", { type: "button", ...properties }, ...children);
    button.addEventListener("click", act);
    return element("li", {}, button);
  }
  const STEERING = new RegExp(facts.steering, "gu"); // control characters are shown, not obeyed
  const visible = (text) => text.replace(STEERING, (character) => {
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return code === 0x7f ? "\u2421" : `\\u${code.toString(16).padStart(4, "0")}`;
  });
  function named(id) {
    const character = model.characters[id];
    if (id === charrnn.END) return "end";
    if (character === " ") return "space";
    if (character === "\n") return "newline";
    if (!/^[\p{Z}\p{C}\p{M}]$/u.test(character)) return character;
    return "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  }

  // Writing.
  const newSeed = () => 1 + crypto.getRandomValues(new Uint32Array(1))[0] % 999999;
  let seed = newSeed(), texts = [], writing = 0;
  function requested() {
    const wanted = { prime: $("prime").value, temperature: Number($("temperature").value), seed };
    for (const id of ["shortest", "longest"]) if (number(id)) wanted[id] = number(id);
    if ($("label")?.value) wanted.label = model.labels[$("label").value];
    return wanted;
  }
  function remember() {
    const best = $("best").checked ? { best: 1 } : {};
    const settings = new URLSearchParams({ ...requested(), count: number("count") ?? 1, ...best });
    try {
      history.replaceState(null, "", `#${settings}`);
    } catch { /* not allowed in a frame */ }
    return `#${settings}`;
  }
  function recall() {
    const settings = new URLSearchParams(location.hash.slice(1));
    $("shortest").value = $("longest").value = ""; // a link without them has none
    for (const id of ["temperature", "count", "shortest", "longest"]) {
      if (/^\d+(\.\d*)?$/.test(settings.get(id) ?? "")) $(id).value = settings.get(id);
    }
    if (settings.has("prime")) $("prime").value = settings.get("prime");
    const place = model.labels.indexOf(settings.get("label"));
    if ($("label")) $("label").value = place < 0 ? "" : String(place);
    $("best").checked = settings.has("seed") ? settings.get("best") === "1" : facts.isShort;
    if (/^\d{1,20}$/.test(settings.get("seed") ?? "")) seed = settings.get("seed");
  }
  async function write() {
    const mine = ++writing, list = $("samples");
    const count = Math.max(1, Math.min(1000, number("count") ?? 1));
    const best = $("best").checked, most = best ? BEST_OF * count : count;
    const options = model.checked(requested());
    $("temperature-said").textContent = options.temperature.toFixed(2);
    remember();
    list.setAttribute("aria-busy", "true");
    const drawn = [], taken = new Set(), last = best ? MOST_DRAWN * count : count;
    let since = performance.now(), at = 0, attempt = 0, failures = 0;
    while (drawn.length < most && at < last && failures < FAILURES) {
      const steps = model.attempt({ ...options, number: at }, attempt);
      let step = steps.next();
      for (; !step.done; step = steps.next()) {
        if (performance.now() - since < SLICE) continue;
        if (!best) show(list, [...drawn.map(({ text }) => text), step.value]);
        await breath();
        if (writing !== mine) return;
        since = performance.now();
      }
      const { text, nats, ended, isRight, characters } = step.value;
      const passes = isRight && !(best && taken.has(text));
      if (passes) drawn.push({ text, cost: nats / (characters + (ended === "end" ? 1 : 0)) });
      taken.add(text);
      attempt = best || passes ? 0 : (attempt + 1) % charrnn.ATTEMPTS;
      if (attempt === 0) [at, failures] = [at + 1, best || passes ? 0 : failures + 1];
    }
    if (best) drawn.sort((one, other) => one.cost - other.cost);
    show(list, drawn.slice(0, count).map(({ text }) => text));
    list.removeAttribute("aria-busy");
    $("said").textContent = texts.length < count ? `found only ${texts.length}` : "";
    if (texts.length && !$("typed").value) read(texts[0]);
  }
  function show(list, rows) {
    texts = rows;
    list.replaceChildren(...rows.map((text) => row(() => {
      read(text);
      $("read").scrollIntoView({ block: "start" });
    }, { className: "text", title: "Read it in colours" }, visible(text))));
  }

  // Reading.
  let reading = 0;
  function read(text) {
    $("typed").value = text;
    return readOn();
  }
  async function readOn() {
    const mine = ++reading, text = model.asRead($("typed").value);
    const ids = model.encode(text), next = model.reader(requested().label), nats = [];
    $("field").classList.toggle("apart", text !== $("typed").value || visible(text) !== text);
    let costs, since = performance.now();
    for (let i = 0; i <= ids.length; i++) {
      costs = next(i ? ids[i - 1] : charrnn.END);
      if (i < ids.length) nats.push(costs[ids[i]]);
      if (performance.now() - since > SLICE) {
        await breath();
        if (reading !== mine) return;
        since = performance.now();
      }
    }
    const parts = Array.from(text).map((character, i) => {
      const bits = nats[i] * BITS, band = facts.bounds.filter((bound) => bits >= bound).length;
      const how = { className: "abcdefg"[band], title: bits.toFixed(1) };
      return element("i", how, visible(character));
    });
    $("mirror").replaceChildren(...parts, "\n"); // so that a final newline makes a line
    const bits = nats.reduce((sum, cost) => sum + cost, 0) * BITS;
    const mean = (bits / ids.length).toFixed(3), end = (costs[charrnn.END] * BITS).toFixed(1);
    $("cost").textContent = ids.length
      ? `${bits.toFixed(1)} bits: ${mean} a letter. Ending here costs ${end} more.` : "";
    showNext(costs);
  }
  function showNext(costs) {
    const order = Array.from(costs.keys()).filter((id) => id !== charrnn.UNKNOWN)
      .sort((i, j) => costs[i] - costs[j]).slice(0, 10);
    $("next").replaceChildren(...order.map((id) => {
      const act = () => read($("typed").value + model.characters[id]), p = Math.exp(-costs[id]);
      const words = [element("b", {}, named(id)), " "];
      words.push(element("span", {}, `${(100 * p).toFixed(1)} %`));
      const shown = row(act, { disabled: id === charrnn.END }, ...words);
      shown.children[0].style.setProperty("--p", p);
      return shown;
    }));
  }

  // Controls.
  async function copy(text, words, shown) {
    try {
      await navigator.clipboard.writeText(text);
      $("said").textContent = words;
    } catch { // not allowed everywhere
      $("said").textContent = shown === "said" ? text : "selected: press Ctrl+C to copy";
      getSelection().selectAllChildren($(shown));
    }
  }
  let soon = 0;
  $("form").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["temperature", "prime", "count", "shortest", "longest", "best"]) {
    $(id).addEventListener("input", () => {
      clearTimeout(soon);
      soon = setTimeout(write, 150);
    });
  }
  $("others").addEventListener("click", () => {
    seed = newSeed();
    write();
  });
  $("copy").addEventListener("click", () => {
    const gap = texts.some((text) => text.includes("\n")) ? "\n\n" : "\n";
    copy(texts.join(gap) + "\n", "copied", "samples");
  });
  $("link").addEventListener("click", () => {
    copy(location.href.split("#")[0] + remember(), "link copied", "said");
  });
  $("typed").addEventListener("input", readOn);
  $("typed").addEventListener("scroll", () => { $("mirror").scrollTop = $("typed").scrollTop; });
  const options = model.labels.map((label, place) =>
    element("option", { value: String(place) }, visible(label)));
  $("label")?.append(...options);
  $("label")?.addEventListener("input", () => { write(); readOn(); });

  function begin() {
    recall();
    write();
    readOn();
  }
  addEventListener("hashchange", begin);
  $("waiting").remove();
  $("link").hidden = !location.protocol.startsWith("http");
  begin();
})();
