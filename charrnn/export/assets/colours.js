/* Text on a page: escaped, never markup, and coloured letter by letter. */
"use strict";
const colouring = ({ steering, bounds }) => {
  const BITS = 1 / Math.LN2;

  const element = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  };
  // Control characters are shown, not obeyed.
  const STEERING = new RegExp(steering, "gu");
  const visible = (text) => text.replace(STEERING, (character) => {
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return code === 0x7f ? "\u2421" : `\\u${code.toString(16).padStart(4, "0")}`;
  });

  // Colours. Neighbours of one colour share an element, and unchanged elements stay.
  const segmenter = typeof Intl !== "undefined" && Intl.Segmenter
    ? new Intl.Segmenter("und", { granularity: "grapheme" }) : null;
  const lettersOf = (text) =>
    segmenter ? Array.from(segmenter.segment(text), (part) => part.segment) : Array.from(text);
  const plain = { name: "a", words: "" }; // of characters that are not read yet
  const bySurprise = (nats) => ({
    name: "abcdefg"[bounds.filter((bound) => nats * BITS >= bound).length],
    words: (nats * BITS).toFixed(1),
  });
  const byState = (h) => ({ name: "stuvwxy"[Math.round(3 * h) + 3], words: h.toFixed(2) });
  function coloured(text, values, colourOf) {
    const parts = [];
    let at = 0, last = null;
    for (const letter of lettersOf(text)) {
      const own = values.slice(at, at += Array.from(letter).length).map(colourOf);
      const { name } = own.length ? own[0] : plain, words = own.map((one) => one.words).join(" ");
      if (last && last.name === name && letter !== "\n" && last.text.length < 200) {
        last.text += letter;
        last.words += " " + words;
      } else {
        parts.push(last = { name, text: letter, words });
      }
    }
    return parts;
  }
  let painted = [];
  function paint(target, parts) {
    let same = 0;
    const alike = (p, q) => p.text === q.text && p.name === q.name && p.words === q.words;
    while (same < parts.length && same < painted.length && alike(parts[same], painted[same])) same++;
    while (target.childNodes.length > same) target.lastChild.remove();
    for (const { name, text, words } of parts.slice(same)) {
      const part = element("i", name, visible(text));
      if (words.trim()) part.title = words;
      target.append(part);
    }
    target.append("\n"); // so that a final newline makes a line
    painted = parts;
  }

  return { BITS, element, visible, bySurprise, byState, coloured, paint };
};
