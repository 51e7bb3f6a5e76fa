/* The figure answers to the pointer and to keys. Text enters the page as text, never as markup. */
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const facts = JSON.parse($("facts").textContent);
  const nodes = [...document.querySelectorAll(".node")];
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  cursor.setAttribute("class", "cursor");
  let now = null, unit = 0; // the node that is shown, and its cell

  const partOf = ({ dataset }) => dataset.part.split(".").reduce((found, key) => found[key], facts);
  const across = (node) => (node.dataset.units ? 1 : facts.across);
  const unitsOf = ({ dataset }) => dataset.units
    ? dataset.units.split(" ").map(Number)
    : facts.layers[0].values.h[0].map((_, i) => i);
  function at(part, name, t, i) { // "h(t-1)" is h at the step before
    const [, value, when] = name in part.values ? [name, name, ""] : name.match(/(.*)\(t(-1)?\)/);
    const rows = part.values[value], step = t - (when ? 1 : 0), row = rows[step % rows.length];
    return step < 0 ? 0 : row[i % row.length];
  }
  function filled(part, template, t, i) {
    const signed = (value) => (String(value).startsWith("-") ? `(${value})` : value);
    return template.replace(/\{([^}]+)\}/g, (_, name) => signed(at(part, name, t, i)));
  }
  function near(equations, name) { // those of a value, of the values in it, and of those it is in
    const has = (one, other) => (equations[one] ?? "").includes(`{${other}(t)}`);
    return Object.keys(equations).filter((one) => one === name || has(one, name) || has(name, one));
  }
  function show(node, index, focus = false) {
    const t = Number(node.dataset.t), { part, name } = node.dataset;
    const units = unitsOf(node), columns = across(node);
    unit = Math.max(0, Math.min(units.length - 1, index));
    const step = facts.steps[t], word = (symbol) => (symbol === null ? "END" : `“${symbol}”`);
    const what = columns > 1 ? `${name}(${t + 1}), unit ${units[unit] + 1}` : node.getAttribute("aria-label");
    $("what").textContent = `${what}. Step ${t + 1} reads ${word(step.reads)} and predicts ${word(step.target)}.`;
    $("equations").replaceChildren();
    const found = part ? partOf(node) : { equations: {} };
    for (const value of near(found.equations, name)) {
      const [template, number = ""] = found.equations[value].split("  ");
      const pair = $("equations").appendChild(document.createElement("div"));
      const line = (tag, words) => pair.appendChild(document.createElement(tag)).textContent = words;
      line("dt", `${number} ${value}(t) = ${template.replace(/[{}]/g, "")}`);
      line("dd", `${at(found, value, t, units[unit])} = ${filled(found, template, t, units[unit])}`);
    }
    const block = node.querySelector(".block"), rows = Math.ceil(units.length / columns);
    const wide = block.width.baseVal.value / columns, high = block.height.baseVal.value / rows;
    const place = { x: (unit % columns) * wide, y: Math.floor(unit / columns) * high, width: wide, height: high };
    for (const [side, value] of Object.entries(place)) cursor.setAttribute(side, value);
    node.append(cursor);
    if (now === null || now.dataset.t !== node.dataset.t) {
      for (const one of nodes) one.setAttribute("tabindex", one.dataset.t === node.dataset.t ? 0 : -1);
    }
    now?.classList.remove("now");
    now = node;
    now.classList.add("now");
    if (focus) now.focus();
  }
  const alike = (t) => nodes.find((one) => Number(one.dataset.t) === t
    && one.dataset.part === now.dataset.part && one.dataset.name === now.dataset.name);

  const figure = $("figure");
  figure.addEventListener("pointermove", (event) => {
    const node = event.target.closest(".node");
    if (!node) return;
    const box = node.querySelector(".block").getBoundingClientRect();
    const count = unitsOf(node).length, columns = across(node);
    const column = Math.floor((event.clientX - box.left) / box.width * columns);
    const row = Math.floor((event.clientY - box.top) / box.height * Math.ceil(count / columns));
    const index = row * columns + Math.min(columns - 1, column);
    if (node !== now || index !== unit) show(node, index);
  });
  figure.addEventListener("focusin", (event) => {
    const node = event.target.closest(".node");
    if (node && node !== now) show(node, 0);
  });
  figure.addEventListener("keydown", (event) => {
    const t = Number(now.dataset.t), last = facts.steps.length - 1;
    const steps = { ArrowLeft: t - 1, ArrowRight: t + 1, Home: 0, End: last };
    const units = { ArrowUp: unit - 1, ArrowDown: unit + 1 };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) show(alike(Math.max(0, Math.min(last, steps[event.key]))), unit, true);
    else if (event.key in units) show(now, units[event.key]);
    else return;
    event.preventDefault();
  });
  show(nodes.find((one) => one.dataset.name === "h"), 0);
})();
