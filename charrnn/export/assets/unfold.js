/* An ordinary table: a row for each value, a column for each step, a cell for each unit.
   Text enters the page as text, never as markup. */
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const facts = JSON.parse($("facts").textContent), { time_steps: steps, symbol_names: symbols } = facts, table = $("figure");
  const word = (symbol) => (symbol === null ? "END" : symbol === " " ? "space" : symbol);
  const add = (parent, tag, text = "", name = "") => {
    const element = document.createElement(tag);
    [element.textContent, element.className] = [text, name];
    parent.append(element);
    return element;
  };
  const rows = []; // the part and the value of each row of units, and its element
  let row = 0, t = 0, unit = 0; // the cell that is shown

  function words(label, text) {
    const line = add(table, "tr");
    add(line, "th", label);
    steps.forEach((step, at) => add(line, "td", text(step, at)));
  }
  function units(part, value, of) {
    const line = add(table, "tr"), all = part.values[value];
    const most = Math.max(...all.map((numbers) => Math.max(...numbers.map(Math.abs)))) || 1;
    const band = (number) => { // a gradient ten times smaller has the next lighter colour
      const tenths = Math.ceil(Math.log10(Math.max(Math.abs(number) / most, 1e-3)));
      const size = value.startsWith("dL/") ? 1 + tenths / 3 : Math.min(1, Math.abs(number));
      return "stuvwxy"[Math.round(3 * Math.sign(number) * size) + 3];
    };
    add(line, "th", value + of);
    steps.forEach((_, at) => {
      const cell = add(line, "td");
      all[at % all.length].forEach((number) => add(cell, "i", "", band(number)));
    });
    rows.push({ part, value, of, line });
  }
  const number = (part, value, at) => {
    const all = part.values[value], numbers = all[at % all.length];
    return numbers[unit % numbers.length];
  };
  function show() {
    const { part, value, of, line } = rows[row], count = line.children[t + 1].children.length;
    unit = (unit + count) % count;
    for (const old of table.querySelectorAll(".now")) old.classList.remove("now");
    line.children[t + 1].children[unit].classList.add("now");
    line.children[t + 1].scrollIntoView({ block: "nearest", inline: "nearest" });
    const { reads, target } = steps[t], name = part === facts.output ? `symbol ${word(symbols[unit])}` : `unit ${unit + 1}`;
    $("what").textContent = `${value}(${t + 1})${of}, ${name}. Step ${t + 1} reads ${word(reads)} and predicts ${word(target)}.`;
    const others = Object.keys(part.equations).filter((other) => other !== value);
    $("equations").replaceChildren(...[value, ...others].map((left) => {
      const [template, label = ""] = part.equations[left].split("  "), pair = document.createElement("div");
      const signed = (term) => String(number(part, term, t)).replace(/^-.*/, "($&)");
      const last = label === "(10.21)" && template.includes("V'") && t === steps.length - 1;
      add(pair, "dt", `${last ? "(10.19)" : label} ${left}(t) = ${template.replace(/[{}]/g, "")}`);
      add(pair, "dd", `${number(part, left, t)} = ${template.replace(/\{([^}]+)\}(\(t\))?/g, (_, term) => signed(term))}`);
      return pair;
    }));
  }

  words("y", (step) => word(step.target));
  units(facts.loss, "L", "");
  words("likeliest", (_, at) => facts.output.values.y_hat[at].map((chance, k) => [chance, word(symbols[k])])
    .sort(([one], [other]) => other - one).slice(0, 4).map(([chance, name]) => `${name} ${chance.toFixed(2)}`).join("\n"));
  for (const value of Object.keys(facts.output.equations).reverse()) units(facts.output, value, "");
  [...facts.by_layer.entries()].reverse().forEach(([index, layer]) =>
    Object.keys(layer.equations).reverse().forEach((value) => units(layer, value, ` of layer ${index + 1}`)));
  words("x", (step) => word(step.reads));

  table.addEventListener("pointerover", ({ target }) => {
    const line = rows.findIndex((one) => one.line.contains(target));
    if (target.tagName !== "I") return;
    [row, t, unit] = [line, target.parentNode.cellIndex - 1, [...target.parentNode.children].indexOf(target)];
    show();
  });
  table.addEventListener("keydown", (event) => {
    const { key } = event, next = { ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0, down = { ArrowUp: -1, ArrowDown: 1 }[key] ?? 0;
    if (event.ctrlKey || event.metaKey || event.altKey || !(next || down)) return;
    if (event.shiftKey) unit += next;
    else t = Math.max(0, Math.min(steps.length - 1, t + next));
    row = Math.max(0, Math.min(rows.length - 1, row + down));
    event.preventDefault();
    show();
  });
  row = rows.findIndex(({ value }) => value === "h");
  show();
})();
