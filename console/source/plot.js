// Draws readings or bands over time: uPlot has the axes, the selection and the scales, and this
// module draws the data. A drawing has these parts:
//   { from, to,                seconds since 1970
//     fields: [name],          each has a scale of its own; the first two have an axis
//     lines: [line],           see readingsLine and bandLine
//     alerts: [{ since, until, severity }] }
import { html, useEffect, useRef } from "./lib/preact.js";
import { second, span } from "./format.js";

let library;

// loadPlot loads uPlot once.
const loadPlot = () => (library ||= import("./uplot.js").then(
  (module) => module.default,
  () => { library = undefined; throw new Error("The charts cannot be loaded: reload the console"); },
));

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// The classes of lateness. A reading is in the first class whose property below is greater than the
// delay of the reading in seconds. Each class has a shape, too.
export const lateness = [
  { name: "live", below: 3600, path: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0" },
  { name: "hours late", below: 86400, color: "--warn", path: "M-4-4h8v8h-8z" },
  { name: "days late", below: 30 * 86400, color: "--bad", path: "M-6 0l6-6l6 6l-6 6z" },
  { name: "months late", below: Infinity, color: "--series-4", path: "M-6 6l6-12l6 12z" },
];
const colors = ["--series-1", "--series-3", "--series-2", "--series-6", "--series-4", "--series-5"];
export const colorOf = (i) => colors[i % colors.length];
export const severityColor = { critical: "--bad", warning: "--warn", info: "--series-1" };

// parser returns a function that parses times of the server to seconds since 1970. It parses the date
// only if it differs from the date of the previous time.
const parser = () => {
  let day = "-", begin = 0;
  const two = (text, i) => (text.charCodeAt(i) - 48) * 10 + text.charCodeAt(i + 1) - 48;
  return (text) => {
    if (!text.startsWith(day)) begin = Date.parse((day = text.slice(0, 11)) + "00:00:00Z") / 1000;
    return begin + two(text, 11) * 3600 + two(text, 14) * 60 + two(text, 17) + (text.length > 20 ? +text.slice(19, -1) : 0);
  };
};

// readingsLine returns the line of a field in an answer in columns. Only numbers and booleans are
// drawn. Readings with the same time are drawn side by side.
export const readingsLine = (device, field, color, columns) => {
  const values = columns.fields[field] || [], n = values.length;
  const t = new Float64Array(n), y = new Float64Array(n), came = new Float64Array(n), late = new Uint8Array(n), twin = new Float32Array(n), row = new Uint32Array(n);
  const time = parser(), arrival = parser();
  let k = 0, twins = 0;
  for (let i = 0; i < n; i++) {
    const v = values[i];
    if (typeof v !== "number" && typeof v !== "boolean") continue;
    t[k] = time(columns.time[i]);
    came[k] = arrival(columns.arrived[i]);
    y[k] = +v;
    const delay = came[k] - t[k];
    while (delay >= lateness[late[k]].below) late[k]++;
    row[k++] = i;
  }
  for (let i = 1, from = 0; i <= k; i++) {
    if (i < k && t[i] === t[from] && columns.time[row[i]] === columns.time[row[from]]) continue;
    if (i - from > 1) for (let j = from; j < i; j++, twins++) twin[j] = j - from - (i - from - 1) / 2;
    from = i;
  }
  return { kind: "readings", device, field, color, t, y, came, late, twin, row, n: k, twins, columns };
};

// bandLine returns the line of a field in buckets with min, max and mean.
export const bandLine = (device, field, color, buckets, step) => {
  const of = buckets.filter((b) => b.fields[field]?.mean != null);
  const get = (name) => Float64Array.from(of, (b) => b.fields[field][name]);
  return { kind: "band", device, field, color, step, n: of.length, t: Float64Array.from(of, (b) => Date.parse(b.start) / 1000), y: get("mean"), low: get("min"), high: get("max") };
};

// rangeOf returns the scale of a field. The scale has room for the alerts at the top, and for the rug
// (the marks of arrivals) at the bottom.
const rangeOf = (lines) => {
  let low = Infinity, high = -Infinity;
  for (const l of lines) {
    for (let i = 0; i < l.n; i++) {
      low = Math.min(low, l.low ? l.low[i] : l.y[i]);
      high = Math.max(high, l.high ? l.high[i] : l.y[i]);
    }
  }
  if (low > high) [low, high] = [0, 1];
  const room = high - low || Math.abs(high) || 1;
  return [low - room * 0.13, high + room * 0.1];
};

// Painter draws the lines of one drawing into a chart.
class Painter {
  constructor(u, drawing) {
    Object.assign(this, { u, drawing, ctx: u.ctx, dpr: devicePixelRatio || 1 });
    const { left, top, width, height } = u.bbox;
    Object.assign(this, { left, top, width, height, bottom: top + height });
    this.x = (t) => left + ((t - drawing.from) / (drawing.to - drawing.from)) * width;
  }
  scale(field) {
    const { min, max } = this.u.scales["y" + this.drawing.fields.indexOf(field)];
    return (v) => this.bottom - ((v - min) / (max - min)) * this.height;
  }
  place(l, i) {
    return [this.x(l.t[i]) + (l.twin ? l.twin[i] * 7 * this.dpr : 0), this.scale(l.field)(l.y[i])];
  }
  draw() {
    const { ctx } = this;
    ctx.save();
    ctx.beginPath();
    ctx.rect(this.left - 5 * this.dpr, this.top, this.width + 10 * this.dpr, this.height);
    ctx.clip();
    this.alerts();
    for (const l of this.drawing.lines) {
      if (l.kind === "band") this.band(l);
      this.line(l);
      if (l.kind === "readings") this.points(l);
    }
    ctx.restore();
  }
  alerts() {
    for (const a of this.drawing.alerts) {
      const from = this.x(a.since), w = Math.max(this.x(Math.min(a.until, this.drawing.to)) - from, 2 * this.dpr);
      this.ctx.fillStyle = color(severityColor[a.severity]);
      this.ctx.globalAlpha = 0.09;
      this.ctx.fillRect(from, this.top, w, this.height);
      this.ctx.globalAlpha = 1;
      this.ctx.fillRect(from, this.top, w, 6 * this.dpr);
    }
  }
  band(l) {
    const { ctx } = this, y = this.scale(l.field), middle = l.step / 2;
    ctx.fillStyle = color(l.color);
    ctx.globalAlpha = 0.22;
    for (let i = 0; i < l.n; ) { // one shape for each part without a gap
      const begin = i++;
      while (i < l.n && l.t[i] - l.t[i - 1] < l.step * 1.6) i++;
      ctx.beginPath();
      for (let j = begin; j < i; j++) ctx.lineTo(this.x(l.t[j] + middle) - (i - begin < 2), y(l.high[j]));
      for (let j = i - 1; j >= begin; j--) ctx.lineTo(this.x(l.t[j] + middle) + (i - begin < 2), y(l.low[j]));
      ctx.fill();
    }
    ctx.globalAlpha = 1;
  }
  // line connects the values. Where many lie on one column of pixels, it draws their range.
  line(l) {
    const { ctx } = this, y = this.scale(l.field), shift = l.kind === "band" ? l.step / 2 : 0, gap = gapOf(l);
    ctx.strokeStyle = color(l.color);
    // With several lines, only the line shows which device and field a point belongs to.
    const strong = l.kind === "band" || this.drawing.lines.length > 1;
    ctx.lineWidth = (strong ? 1.6 : 1) * this.dpr;
    ctx.globalAlpha = strong ? 1 : 0.55;
    ctx.beginPath();
    for (let i = 0; i < l.n; ) {
      const x = Math.round(this.x(l.t[i] + shift)), begin = i;
      let low = l.y[i], high = low;
      for (i++; i < l.n && Math.round(this.x(l.t[i] + shift)) === x; i++) {
        low = Math.min(low, l.y[i]);
        high = Math.max(high, l.y[i]);
      }
      if (begin > 0 && l.t[begin] - l.t[begin - 1] <= gap) ctx.lineTo(x, y(l.y[begin]));
      else ctx.moveTo(x, y(l.y[begin]));
      if (low < high) {
        ctx.lineTo(x, y(low));
        ctx.lineTo(x, y(high));
        ctx.lineTo(x, y(l.y[i - 1]));
      }
    }
    ctx.stroke();
    ctx.globalAlpha = 1;
  }
  // dots draws many readings as single dots, pixel by pixel.
  dots(l) {
    const y = this.scale(l.field), size = Math.ceil(2 * this.dpr), wide = Math.ceil(this.width), high = Math.ceil(this.height);
    const image = this.ctx.createImageData(wide, high), pixels = new Uint32Array(image.data.buffer);
    const inks = lateness.map((of) => { const n = parseInt(color(of.color || l.color).slice(1), 16); return (0xff000000 | ((n & 255) << 16) | (n & 0xff00) | (n >> 16)) >>> 0; });
    for (let i = 0; i < l.n; i++) {
      const left = Math.round(this.x(l.t[i]) - this.left - size / 2), top = Math.round(y(l.y[i]) - this.top - size / 2), ink = inks[l.late[i]];
      for (let py = Math.max(top, 0); py < top + size && py < high; py++) for (let px = Math.max(left, 0); px < left + size && px < wide; px++) pixels[py * wide + px] = ink;
    }
    const layer = new OffscreenCanvas(wide, high);
    layer.getContext("2d").putImageData(image, 0, 0);
    this.ctx.drawImage(layer, this.left, this.top);
  }
  // points draws each reading with the shape and color of its lateness, and its arrival as a mark in the
  // rug.
  points(l) {
    const { ctx, dpr } = this, many = l.n > 2000, size = (l.n > 300 ? 0.6 : 0.9) * dpr;
    const rug = new Uint8Array(Math.ceil(this.width) + 1);
    if (many) this.dots(l);
    lateness.forEach((of, c) => {
      const shape = new Path2D(of.path);
      ctx.fillStyle = color(of.color || l.color);
      for (let i = 0; i < l.n; i++) {
        if (l.late[i] !== c) continue;
        if (!many) {
          ctx.setTransform(size, 0, 0, size, ...this.place(l, i));
          ctx.fill(shape);
          ctx.resetTransform();
        }
        const came = Math.floor(this.x(l.came[i]) - this.left);
        if (came < 0 || came >= rug.length || rug[came] & (1 << c)) continue;
        rug[came] |= 1 << c;
        ctx.fillRect(this.left + came, this.bottom - 9 * dpr, dpr, 9 * dpr);
      }
    });
  }
}

// gapOf returns the longest time between two values that a line connects, in seconds: five times the
// median of a sample, or 1.6 buckets.
const gapOf = (l) => {
  if (l.kind === "band") return l.step * 1.6;
  const steps = [];
  for (let i = 1, by = Math.max(1, l.n >> 9); i < l.n; i += by) if (l.t[i] > l.t[i - 1]) steps.push(l.t[i] - l.t[i - 1]);
  return 5 * (steps.sort((a, b) => a - b)[steps.length >> 1] || Infinity);
};

// nearest returns the drawn value next to a place of the chart, or nothing if none is near. The place
// and the greatest distance, most, are in pixels of the page.
const nearest = (painter, left, top, most = 18) => {
  let best, least = most * painter.dpr;
  const x = left * painter.dpr + painter.left, y = top * painter.dpr + painter.top;
  const at = painter.drawing.from + ((x - painter.left) / painter.width) * (painter.drawing.to - painter.drawing.from);
  for (const l of painter.drawing.lines) {
    let low = 0, high = l.n;
    while (low < high) l.t[(low + high) >> 1] < at ? (low = ((low + high) >> 1) + 1) : (high = (low + high) >> 1);
    for (const step of [-1, 1]) {
      for (let i = step < 0 ? low - 1 : low; i >= 0 && i < l.n; i += step) {
        const [px, py] = painter.place(l, i);
        if (Math.abs(px - x) > least + 30 * painter.dpr) break;
        const far = Math.hypot(px - x, py - y);
        if (far < least) [best, least] = [{ line: l, i }, far];
      }
    }
  }
  return best;
};

export const describe = ({ line: l, i }) =>
  `${l.device} ${l.field} ${l.y[i]} at ${second(l.t[i] * 1000)}` +
  (l.kind === "band" ? `, mean of ${span(l.step * 1000)}, from ${l.low[i]} to ${l.high[i]}` : `, arrived ${span((l.came[i] - l.t[i]) * 1000)} later`);

// timeText labels the axis of time: with days, or with clock times. The day is shown below the first
// clock time and below each midnight.
const timeText = (t, step, first) => {
  const text = second(t * 1000), day = text.slice(0, 10);
  if (step >= 86400) return day;
  const clock = step < 60 ? text.slice(11) : text.slice(11, 16);
  return first || t % 86400 === 0 ? clock + "\n" + day : clock;
};

const optionsOf = (U, drawing, width, height, on) => {
  const ink = color("--quiet"), grid = { stroke: color("--line"), width: 1 }, font = "12px " + color("--sans");
  const axis = { stroke: ink, grid, ticks: grid, font };
  const scales = { x: { time: true, range: () => [drawing.from, drawing.to] } };
  const axes = [{ ...axis, values: (u, at, i, space, step) => at.map((t, k) => timeText(t, step, k === 0)) }], series = [{}];
  drawing.fields.forEach((f, i) => {
    const range = rangeOf(drawing.lines.filter((l) => l.field === f));
    scales["y" + i] = { range: () => range };
    series.push({ scale: "y" + i, paths: () => null, points: { show: false } });
    if (i < 2) axes.push({ ...axis, scale: "y" + i, side: i ? 1 : 3, grid: i ? { show: false } : grid, label: f, labelFont: font, labelSize: 18, size: 54 });
  });
  return {
    width, height, scales, axes, series, legend: { show: false }, tzDate: (at) => U.tzDate(new Date(at * 1000), "Etc/UTC"),
    cursor: { points: { show: false }, y: false, drag: { x: true, y: false, setScale: false }, bind: { dblclick: () => null } },
    hooks: on,
  };
};

// Plot shows a drawing. It calls zoom with the new window after a selection. It calls pick with a reading
// that was clicked, or chosen with the arrow keys and Enter.
export const Plot = ({ drawing, zoom, pick, label }) => {
  const box = useRef(), tip = useRef(), told = useRef();
  useEffect(() => {
    let chart, painter, left = false, size, chosen;
    const show = (found) => {
      tip.current.hidden = !found;
      if (!found) return;
      const [x, y] = painter.place(found.line, found.i).map((v) => v / painter.dpr);
      tip.current.textContent = describe(found);
      tip.current.style.left = Math.min(Math.max(x - 90, 0), box.current.clientWidth - 200) + "px";
      tip.current.style.top = (y > 90 ? y - 70 : y + 14) + "px";
    };
    const build = async () => {
      const U = await loadPlot();
      if (left || !box.current.clientWidth) return;
      chart?.destroy();
      const begin = performance.now();
      const data = [[drawing.from, drawing.to], ...drawing.fields.map(() => [null, null])];
      chart = new U(optionsOf(U, drawing, (size = box.current.clientWidth), innerWidth < 640 ? 260 : 340, {
        draw: [(u) => { (painter = new Painter(u, drawing)).draw(); Object.assign(box.current.dataset, { drawn: (performance.now() - begin).toFixed(1) }); }],
        setSelect: [(u) => u.select.width > 4 && zoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"))],
        setCursor: [(u) => painter && show(u.cursor.left >= 0 && nearest(painter, u.cursor.left, u.cursor.top))],
      }), data, box.current);
      chart.over.addEventListener("click", (e) => {
        const found = nearest(painter, e.offsetX, e.offsetY);
        if (found?.line.kind === "readings" && chart.select.width <= 4) pick(found);
      });
      box.current.plot = { place: (line, i) => painter.place(drawing.lines[line], i).map((v) => v / painter.dpr), drawing };
    };
    const press = (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key], lines = drawing.lines.filter((l) => l.n > 0);
      if (!painter || !lines.length || (!step && e.key !== "Enter" && e.key !== "ArrowDown")) return;
      e.preventDefault();
      if (e.key === "Enter") return chosen?.line.kind === "readings" && pick(chosen);
      if (!chosen) chosen = { line: lines[0], i: lines[0].n - 1 };
      else if (!step) chosen = { line: lines[(lines.indexOf(chosen.line) + 1) % lines.length], i: 0 };
      else chosen = { line: chosen.line, i: Math.min(Math.max(chosen.i + step, 0), chosen.line.n - 1) };
      show(chosen);
      told.current.textContent = describe(chosen);
    };
    const watch = new ResizeObserver(() => requestAnimationFrame(() => box.current && box.current.clientWidth !== size && build()));
    watch.observe(box.current);
    const media = matchMedia("(prefers-color-scheme: dark)");
    const area = box.current;
    area.addEventListener("keydown", press);
    media.addEventListener("change", build);
    addEventListener("varve-theme", build);
    build();
    return () => {
      left = true;
      watch.disconnect();
      area.removeEventListener("keydown", press);
      media.removeEventListener("change", build);
      removeEventListener("varve-theme", build);
      chart?.destroy();
    };
  }, [drawing]);
  return html`<div class="plot" ref=${box} tabindex="0" role="group" aria-label=${label} data-kind=${drawing.lines[0]?.kind || "none"}
      data-points=${drawing.lines.reduce((n, l) => n + l.n, 0)} data-twins=${drawing.lines.reduce((n, l) => n + (l.twins || 0), 0)}>
    <div class="tip" ref=${tip} hidden></div><p class="unseen" aria-live="polite" ref=${told}></p>
  </div>`;
};
