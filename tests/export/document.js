/* A document for the scripts of the pages where there is no browser: as much as they use of one.
   Timers wait until drain() is called. */
function atob(base64) {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  let text = "";
  for (let i = 0, bits = 0; i < base64.length && base64[i] !== "="; i++) {
    bits = (bits << 6) | letters.indexOf(base64[i]);
    if (i % 4) text += String.fromCharCode((bits >> (6 - 2 * (i % 4))) & 255);
  }
  return text;
}
class Event {
  constructor(type, more = {}) {
    Object.assign(this, { type, preventDefault() {} }, more);
  }
}
const PointerEvent = Event;
class Fake {
  constructor(tag, text = "") {
    const style = { setProperty() {} };
    Object.assign(this, { tagName: tag.toUpperCase(), children: [], attributes: {}, heard: {}, style });
    Object.assign(this, { value: "", className: "", title: "", hidden: false, disabled: false, text });
  }
  get textContent() { return this.text + this.children.map((child) => child.textContent).join(""); }
  set textContent(text) { [this.children, this.text] = [[], String(text)]; }
  append(...nodes) {
    for (const node of nodes) {
      const child = typeof node === "string" ? new Fake("#text", node) : node;
      child.parentNode = this;
      this.children.push(child);
    }
  }
  replaceChildren(...nodes) { this.textContent = ""; this.append(...nodes); }
  remove() { elements.delete(this.id); }
  get cellIndex() { return this.parentNode.children.indexOf(this); }
  get all() { return [this, ...this.children.flatMap((child) => child.all)]; }
  contains(other) { return this.all.includes(other); }
  querySelectorAll(selector) { return this.all.filter((one) => one.classList.contains(selector.slice(1))); }
  get classList() {
    const names = this.className.split(" ").filter(Boolean);
    const set = (kept) => { this.className = kept.join(" "); };
    const remove = (name) => set(names.filter((one) => one !== name));
    const add = (name) => set([...names, name]);
    const toggle = (name, is) => (is ? add(name) : remove(name));
    return { contains: (name) => names.includes(name), add, remove, toggle };
  }
  setAttribute(name, value) { this.attributes[name] = value; }
  removeAttribute(name) { delete this.attributes[name]; }
  getAttribute(name) { return this.attributes[name] ?? null; }
  scrollIntoView() {}
  addEventListener(type, hear) { (this.heard[type] ??= []).push(hear); }
  dispatchEvent(event) {
    event.target ??= this;
    for (let at = this; at; at = at.parentNode) (at.heard[event.type] ?? []).forEach((hear) => hear(event));
  }
  click() { if (!this.disabled) this.dispatchEvent(new Event("click")); }
}
class URLSearchParams {
  constructor(given) {
    const pairs = typeof given === "string" ? given.split("&").filter(Boolean).map((pair) => pair.split("=").map(decodeURIComponent)) : Object.entries(given);
    this.values = new Map(pairs.map(([name, value]) => [name, String(value)]));
  }
  get(name) { return this.values.get(name) ?? null; }
  has(name) { return this.values.has(name); }
  toString() { return [...this.values].map((pair) => pair.map(encodeURIComponent).join("=")).join("&"); }
}
const elements = new Map(), view = new Fake("window"), timers = new Map();
const document = {
  getElementById: (id) => elements.get(id) ?? null,
  createElement: (tag) => new Fake(tag),
  querySelectorAll: (selector) => [...elements.values()].flatMap((one) => one.querySelectorAll(selector)),
};
const location = { hash: "", href: "https://names.test/", protocol: "https:" };
const history = { replaceState(state, title, hash) { location.hash = hash; location.href = location.href.split("#")[0] + hash; } };
const navigator = { clipboard: { async writeText(text) { navigator.copied = text; }, readText: async () => navigator.copied } };
const crypto = { getRandomValues(room) { room[0] = Math.floor(Math.random() * 2 ** 32); return room; } };
const performance = { now: () => 0 };
const addEventListener = (type, hear) => view.addEventListener(type, hear);
let lastTimer = 0;
globalThis.setTimeout = (act) => { timers.set(++lastTimer, act); return lastTimer; };
globalThis.clearTimeout = (timer) => timers.delete(timer);
function drain() {
  const waiting = [...timers.values()];
  timers.clear();
  waiting.forEach((act) => act());
  return waiting.length;
}
function place(tag, attributes, text) {
  const made = new Fake(tag, text);
  elements.set(attributes.id, Object.assign(made, { attributes }, { id: attributes.id, value: attributes.value ?? "" }));
  made.hidden = "hidden" in attributes;
}
