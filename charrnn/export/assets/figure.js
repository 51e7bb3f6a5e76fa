/* The figure answers to the pointer and to keys. Text enters the page as text, never as markup. */
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const facts = JSON.parse($("facts").textContent), figure = $("figure");
  const nodes = [...document.querySelectorAll(".node")];
  let now = null, place = 0; // the node that is shown, and its cell

  const cellsOf = (node) => [...node.querySelectorAll(".cell")];
  const word = (symbol) => (symbol === null ? "END" : `“${symbol}”`);
  const signed = (value) => (String(value).startsWith("-") ? `(${value})` : value);
  function show(node, index) {
    const { part: path, name } = node.dataset, t = Number(node.dataset.t), cells = cellsOf(node);
    place = Math.max(0, Math.min(cells.length - 1, index));
    const symbol = cells[place]?.dataset.unit, unit = Number(symbol ?? place);
    const which = symbol ? ` of ${word(facts.symbols[unit])}` : `, unit ${unit + 1}`;
    const what = node.getAttribute("aria-label") + (cells.length ? which : "");
    const { reads, target } = facts.steps[t];
    $("what").textContent = `${what}. Step ${t + 1} reads ${word(reads)} and predicts ${word(target)}.`;
    const part = path.split(".").reduce((found, key) => found[key], { "": { equations: {} }, ...facts });
    const equations = Object.entries(part.equations).sort(([one]) => (one === name ? -1 : 0));
    const at = (value) => {
      const rows = part.values[value], row = rows[t % rows.length];
      return row[unit % row.length];
    };
    $("equations").replaceChildren(...equations.map(([value, equation]) => {
      const [template, number = ""] = equation.split("  ");
      const pair = document.createElement("div");
      const line = (tag, words) => pair.appendChild(document.createElement(tag)).textContent = words;
      line("dt", `${number} ${value}(t) = ${template.replace(/[{}]/g, "")}`);
      const filled = template.replace(/\{([^}]+)\}(\(t\))?/g, (_, term) => signed(at(term)));
      line("dd", `${at(value)} = ${filled}`);
      return pair;
    }));
    for (const old of figure.querySelectorAll(".now")) old.classList.remove("now");
    for (const one of nodes) one.setAttribute("tabindex", one.dataset.t === node.dataset.t ? 0 : -1);
    for (const one of [node, cells[place]]) one?.classList.add("now");
    now = node;
  }

  figure.addEventListener("pointerover", (event) => {
    const node = event.target.closest(".node"), cell = event.target.closest(".cell");
    if (cell || (node && !cellsOf(node).length)) show(node, cellsOf(node).indexOf(cell));
  });
  figure.addEventListener("focusin", (event) => {
    const node = event.target.closest(".node");
    if (node && node !== now) show(node, 0);
  });
  figure.addEventListener("keydown", (event) => {
    const { t, part, name } = now.dataset, step = Number(t), last = facts.steps.length - 1;
    const steps = { ArrowLeft: step - 1, ArrowRight: step + 1, Home: 0, End: last };
    const places = { ArrowUp: place - 1, ArrowDown: place + 1 };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) {
      const wanted = String(Math.max(0, Math.min(last, steps[event.key])));
      const alike = ({ dataset }) => dataset.part === part && dataset.name === name;
      show(nodes.find((one) => one.dataset.t === wanted && alike(one)), place);
      now.focus();
    } else if (event.key in places) show(now, places[event.key]);
    else return;
    event.preventDefault();
  });
  show(nodes.find((one) => one.dataset.name === "h"), 0);
})();
