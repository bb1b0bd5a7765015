// Runs the script of a profile's page without a browser: a stub of the few things that it may use, and nothing else, so
// that a script that fetches, or asks for more, fails.      node run_page.js PAGE
'use strict';
const assert = require('assert'), fs = require('fs'), vm = require('vm');

const page = fs.readFileSync(process.argv[2], 'utf8');
const data = page.match(/<script type="application\/json" id=data>([^]*?)<\/script>/)[1];
const scripts = [...page.matchAll(/<script>([^]*?)<\/script>/g)].map(match => match[1]);
assert.strictEqual(scripts.length, 1);

const bars = [], words = [], listeners = {};
const pen = {
  scale() {}, save() {}, restore() {}, beginPath() {}, rect() {}, clip() {},
  fillRect(x, y, w, h) { [x, y, w, h].forEach(n => assert(Number.isFinite(n))); bars.push([x, y, w, h]); },
  fillText(text, x, y) { assert(Number.isFinite(x) && Number.isFinite(y)); words.push(String(text)); },
  measureText: text => ({width: 6 * String(text).length}),
};
// Any of them is drawing: where the view holds no event, there are no bars.
let strokes = 0;
for (const name of Object.keys(pen)) {
  const draw = pen[name];
  pen[name] = (...given) => { ++strokes; return draw(...given); };
}
const elements = {
  data: {textContent: data}, tip: {textContent: ''}, hint: {textContent: 'needs JavaScript'},
  timeline: {style: {}, clientWidth: 1000, getContext: kind => (assert.strictEqual(kind, '2d'), pen),
             getBoundingClientRect: () => ({left: 0, top: 0}), setPointerCapture() {}},
};
const canvas = elements.timeline;
vm.runInNewContext(scripts[0], {
  document: {getElementById: id => { assert(id in elements, id); return elements[id]; }},
  devicePixelRatio: 2,
  addEventListener: (name, listener) => { listeners[name] = listener; },
}, {timeout: 20000});

const parsed = JSON.parse(data);
assert.notStrictEqual(elements.hint.textContent, 'needs JavaScript');
assert(bars.length > 0 && words.length >= 2, 'nothing is drawn');
assert(parseFloat(canvas.style.height) > 0);

// Every bar of the first picture, asked by its middle, is an event that the data names.
const names = new Set(parsed.labels.map(label => label[0]));
let told = 0;
for (const [x, y, w, h] of bars.slice(0, 200)) {
  canvas.onpointermove({clientX: x + w / 2, clientY: y + h / 2});
  if (elements.tip.textContent === '') continue;
  ++told;
  assert(names.has(elements.tip.textContent.split('  ')[0]), elements.tip.textContent);
  assert(/ (ms|µs) at /.test(elements.tip.textContent), elements.tip.textContent);
}
assert(told > 0, 'no bar says what it is');

// A bar has its name as soon as it is wide enough: on a busy machine that takes zooming in.
const widest = bars.reduce((a, b) => (b[2] > a[2] ? b : a));
for (let i = 0; i < 60 && words.length <= 2; ++i) {
  words.length = 0;
  canvas.onwheel({preventDefault() {}, clientX: widest[0] + widest[2] / 2, deltaY: -300});
}
assert(words.length > 2, 'no bar has a name');

const drawn = () => { const before = strokes; return () => strokes > before; };
let again = drawn();
canvas.onwheel({preventDefault() {}, clientX: 500, deltaY: -300});
assert(again(), 'zooming draws nothing');
again = drawn();
canvas.onpointerdown({clientX: 500, pointerId: 1});
canvas.onpointermove({clientX: 400, clientY: 30});
canvas.onpointerup({});
assert(again(), 'dragging draws nothing');
again = drawn();
canvas.ondblclick();
assert(again(), 'a double click draws nothing');
again = drawn();
listeners.resize();
assert(again(), 'another size draws nothing');
