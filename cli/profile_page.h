// The fixed parts of a profile's page: the place of its timeline, and the script that draws it.
#pragma once

namespace voltac {

inline constexpr char kTimelinePlace[] = R"(<p id=hint>The timeline needs JavaScript; the tables do not.</p>
<canvas id=timeline height=0></canvas><div id=tip></div>
)";

inline constexpr char kTimelineScript[] = R"(<script>
'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent), flat = data.events;
const canvas = document.getElementById('timeline'), tip = document.getElementById('tip');
const pen = canvas.getContext('2d'), row = 16, events = [], depths = Array(data.lanes).fill(1);
let end = 1, clock = 0;
for (let i = 0; i < flat.length; i += 6) {
  clock += flat[i + 1];
  const event = {label: data.labels[flat[i]], begin: clock, length: flat[i + 2], lane: flat[i + 3], depth: flat[i + 4],
                 kind: flat[i + 5]};
  events.push(event);
  depths[event.lane] = Math.max(depths[event.lane], event.depth + 1);
  end = Math.max(end, event.begin + event.length);
}
const tops = [];
let height = 18;
for (const depth of depths) { tops.push(height); height += depth * row + 6; }
const hues = {};
const colour = event => {
  if (event.kind < 2) return event.kind ? '#dfe3e8' : '#c6ccd4';
  const name = event.label[0];
  if (!(name in hues)) { let h = 0; for (const c of name) h = (h * 31 + c.charCodeAt(0)) % 360; hues[name] = h; }
  return `hsl(${hues[name]} 55% ${event.kind === 3 ? 82 : 72}%)`;
};
let from = 0, to = end, width = 0;
const shown = ns => ns >= 1e6 ? (ns / 1e6).toFixed(3) + ' ms' : (ns / 1e3).toFixed(2) + ' µs';
const draw = () => {
  const scale = devicePixelRatio || 1;
  width = canvas.clientWidth;
  canvas.width = width * scale; canvas.height = height * scale; canvas.style.height = height + 'px';
  pen.scale(scale, scale); pen.font = '11px system-ui,sans-serif'; pen.textBaseline = 'middle';
  pen.fillStyle = '#555'; pen.fillText(shown(from), 2, 9);
  const right = shown(to); pen.fillText(right, width - pen.measureText(right).width - 2, 9);
  const perNs = width / (to - from), last = {};
  for (const event of events) {
    if (event.begin > to || event.begin + event.length < from) continue;
    const x = (event.begin - from) * perNs, w = Math.max(event.length * perNs, .5);
    const place = event.lane * 64 + event.depth;
    if (w < 1 && last[place] === Math.floor(x)) continue;
    last[place] = Math.floor(x);
    const y = tops[event.lane] + event.depth * row;
    pen.fillStyle = colour(event); pen.fillRect(x, y, w > 3 ? w - .5 : w, row - 1);
    const left = Math.max(x, 0), room = Math.min(x + w, width) - left;
    if (room < 24) continue;
    pen.save(); pen.beginPath(); pen.rect(left, y, room - 2, row); pen.clip(); pen.fillStyle = '#222';
    pen.fillText(event.label[0] + (event.label[1] ? ' ' + event.label[1] : ''), left + 3, y + row / 2); pen.restore();
  }
};
const at = pointer => {
  const box = canvas.getBoundingClientRect(), y = pointer.clientY - box.top;
  const ns = from + (pointer.clientX - box.left) / width * (to - from), slack = (to - from) / width;
  return events.find(e => y >= tops[e.lane] + e.depth * row && y < tops[e.lane] + (e.depth + 1) * row &&
                          ns >= e.begin - slack && ns <= e.begin + e.length + slack);
};
const move = (begin, length) => {
  length = Math.min(Math.max(length, 100), end);
  from = Math.min(Math.max(begin, 0), end - length); to = from + length; draw();
};
let grabbed = null;
canvas.onpointerdown = p => { grabbed = {x: p.clientX, from}; canvas.setPointerCapture(p.pointerId); };
canvas.onpointerup = () => { grabbed = null; };
canvas.onpointermove = p => {
  if (grabbed) return move(grabbed.from - (p.clientX - grabbed.x) / width * (to - from), to - from);
  const event = at(p);
  tip.textContent = event ? `${event.label.filter(Boolean).join('  ')}  ${shown(event.length)} at ${shown(event.begin)}` : '';
};
canvas.onwheel = w => {
  w.preventDefault();
  const part = (w.clientX - canvas.getBoundingClientRect().left) / width, length = (to - from) * Math.pow(1.0015, w.deltaY);
  move(from + part * (to - from) - part * Math.min(Math.max(length, 100), end), length);
};
canvas.ondblclick = () => move(0, end);
document.getElementById('hint').textContent = 'Wheel: zoom. Drag: move. Double click: all. Lanes: the host\'s thread, then the pool\'s.';
addEventListener('resize', draw);
draw();
})();
</script>
)";

}  // namespace voltac
