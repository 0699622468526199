// The grid of tables: event time from left to right, to scale, and arrival months from top to bottom.
import { Component, html } from "./lib/preact.js";
import { compact, count, day, month, plural } from "./format.js";

const DAY = 864e5;
const labelWidth = 84, rowHeight = 24, gap = 3, oldWidth = 12, headHeight = 34, classHeight = 26;

// parseName reads the event range and the arrival month from the name of a table.
export const parseName = (name) => {
  const [, from, to, mm, yyyy] = /_(\d+)_(\d+)_(\d\d)_(\d{4})$/.exec(name) || [];
  return from && { name, from: from * 1000, to: to * 1000, arrival: `${yyyy}-${mm}` };
};

// rangeName writes an event range, such as 2026-11-02 to 2026-11-09.
export const rangeName = (t) => (t.from === 0 ? "before " + day(t.to) : `${day(t.from)} to ${day(t.to)}`);
export const monthName = (arrival) => month(arrival + "-01");

// cellsOf returns a cell for each table, with its state at the time at, and for each table that the plan
// creates.
export const cellsOf = (list, plan, at) => {
  const actions = new Map((plan?.actions || []).map((a) => [a.table, a]));
  const cells = list.tables.map((t) => {
    const drops = t.drops && Date.parse(t.drops);
    return {
      ...t, from: Date.parse(t.from), to: Date.parse(t.to), arrival: t.write_month, action: actions.get(t.name)?.action,
      state: stateAt(t, at), gone: !!drops && !t.hold && drops <= at, group: t.class || "unclaimed",
    };
  });
  const groups = new Map(list.tables.map((t) => [t.name.replace(/(_\d+){4}$/, ""), t.class || "unclaimed"]));
  for (const a of actions.values()) {
    if (a.action !== "create") continue;
    cells.push({ ...parseName(a.table), action: "create", planned: true, state: "planned", readings: 0, bytes: 0, group: groups.get(a.table.replace(/(_\d+){4}$/, "")) || "new", why: a.reason });
  }
  return cells;
};

// stateAt returns the state of a table at a time, by its schedule.
const stateAt = (t, at) => {
  if (t.state === "retired") return "retired";
  if (at < Date.parse(t.write_month + "-01T00:00:00Z")) return "ahead";
  if (at < Date.parse(t.seals)) return "open";
  if (t.retires && !t.hold && Date.parse(t.retires) <= at) return "retired";
  return "sealed";
};

// spans are the choices of the shown event time. The choice fit begins with the first table that has
// readings and spans less than 400 days, but at least 60 days ago.
export const spans = [["fit", "where readings are"], ["3m", "3 months"], ["1y", "1 year"], ["5y", "5 years"], ["all", "everything"]];

// fullOf returns the present number of readings of a cell. In a replay, the property readings holds the
// number at the replayed time.
const fullOf = (c) => c.full ?? c.readings;

const startOf = (cells, choice, now) => {
  const months = { "3m": 3, "1y": 12, "5y": 60 }[choice];
  if (months) return now - months * 30.4 * DAY;
  const wide = choice === "all" ? cells : cells.filter((c) => fullOf(c) > 0 && c.to - c.from < 400 * DAY);
  return Math.min(now - 60 * DAY, ...wide.map((c) => c.from));
};

// layout places the cells. Tables that end before the shown event time stand in narrow columns at
// the left, so that every table has a cell.
export const layout = (cells, choice, width, now, at) => {
  const start = startOf(cells, choice, now);
  const end = Math.max(now + 7 * DAY, ...cells.map((c) => c.to));
  const old = [...new Set(cells.filter((c) => c.to <= start).map((c) => c.from))].sort((a, b) => a - b);
  const left = labelWidth + (old.length ? old.length * oldWidth + 10 : 0);
  const scale = (time) => left + ((Math.max(time, start) - start) / (end - start)) * (width - left - 1);
  const groups = [...Map.groupBy(cells, (c) => c.group)].sort(([a], [b]) => (a < b ? -1 : 1));
  let y = headHeight;
  const rows = [], heads = [];
  for (const [group, members] of groups) {
    if (groups.length > 1) {
      heads.push({ group, y: y + 17, count: members.length });
      y += classHeight;
    }
    for (const [arrival, row] of [...Map.groupBy(members, (c) => c.arrival)].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const begin = Date.parse(arrival + "-01T00:00:00Z"), over = new Date(begin).setUTCMonth(new Date(begin).getUTCMonth() + 1);
      rows.push({ key: group + arrival, group, arrival, y, live: over > start && [scale(begin), scale(Math.min(over, end))],
        cells: row.sort((a, b) => a.from - b.from).map((c) => {
          const x = c.to <= start ? labelWidth + old.indexOf(c.from) * oldWidth : scale(c.from);
          const w = c.to <= start ? oldWidth - 2 : Math.max(3, scale(c.to) - x - 2);
          return { ...c, x, y, w, torn: c.to > start && c.from < start };
        }) });
      y += rowHeight + gap;
    }
    y += 6;
  }
  return { rows, heads, old: old.length, left, start, end, scale, width, height: y + 4, now: scale(now), at: at && at > start && at < end && scale(at), most: Math.max(1, ...cells.map(fullOf)) };
};

// heat returns the step of the color of a number of readings, from 0 for none to 5. most is the
// greatest number of readings of a cell.
export const heat = (readings, most) => (readings <= 0 ? 0 : most <= 1 ? 5 : 1 + Math.min(4, Math.floor((5 * Math.log(readings)) / Math.log(most) + 1e-9)));

// heatSteps returns the steps of the numbers of readings from 1 to most, each with its lowest number,
// for the legend.
export const heatSteps = (most) => [1, 2, 3, 4, 5]
  .map((step) => ({ step, from: most <= 1 ? 1 : Math.ceil(most ** ((step - 1) / 5) - 1e-9) }))
  .filter(({ step, from }) => heat(from, most) === step);

const ticks = ({ start, end, width, left, scale }) => {
  const monthly = (end - start) / (30 * DAY), room = (width - left) / 64;
  const step = [1, 2, 3, 6, 12, 24, 60, 120, 240].find((s) => monthly / s < room) || 480;
  const all = [], first = new Date(start);
  for (let m = Math.ceil((first.getUTCFullYear() * 12 + first.getUTCMonth() + 1) / step) * step; ; m += step) {
    const time = Date.UTC(Math.floor(m / 12), m % 12);
    if (time >= end) return all;
    all.push({ time, text: scale(time) > width - 56 ? "" : step >= 12 ? String(Math.floor(m / 12)) : month(time) });
  }
};

const marks = { create: "+", drop: "×", retire: "▾", restore: "↺" };

// describe names a cell for screen readers.
export const describe = (c) => `${rangeName(c)}, arrived ${monthName(c.arrival)}: ${plural(c.readings, "reading")}, ${c.state}${c.hold ? ", on hold" : ""}${c.action && c.action !== "tune" ? `, planned: ${c.action}` : ""}`;

const Cell = (c, most) => html`<g key=${c.name}>
  <rect role="gridcell" tabindex="-1" data-table=${c.planned ? null : c.name} data-planned=${c.planned ? c.name : null} data-readings=${c.readings} data-action=${c.action}
    class=${`cell heat-${heat(c.readings, most)} ${c.state}${c.hold ? " held" : ""}${c.gone ? " gone" : ""}${c.action ? " act-" + c.action : ""}`}
    x=${c.x} y=${c.y} width=${c.w} height=${rowHeight} rx=${c.torn ? 0 : 2} aria-label=${describe(c)} />
  ${(c.hold || marks[c.action]) && c.w > 7 && html`<text class=${"mark" + (heat(c.readings, most) > 3 ? " on" : "")} aria-hidden="true" x=${c.x + c.w / 2} y=${c.y + 16}>${marks[c.action] || "■"}</text>`}
</g>`;

// Grid draws a layout. It renders again only if the layout or the chosen table changes. point is called
// with the name of the table that has the pointer or the focus, or without a name. choose is called with
// the name of the table that was selected. The attribute data-drawn of the grid's element has the
// milliseconds from begin to the end of the last drawing.
export class Grid extends Component {
  shouldComponentUpdate(next) {
    return next.of !== this.props.of || next.chosen !== this.props.chosen;
  }
  componentDidMount() { this.componentDidUpdate(); }
  componentDidUpdate() {
    const all = this.base.querySelectorAll("[role=gridcell]");
    if (!this.base.querySelector("[tabindex='0']")) (this.cell(this.props.chosen) || all[all.length - 1])?.setAttribute("tabindex", "0");
    this.base.querySelector("[aria-selected]")?.removeAttribute("aria-selected");
    this.cell(this.props.chosen)?.setAttribute("aria-selected", "true");
    this.base.dataset.drawn = performance.now() - this.props.begin;
  }
  cell(name) { return name && this.base.querySelector(`[data-table="${CSS.escape(name)}"], [data-planned="${CSS.escape(name)}"]`); }
  nameOf(target) { return target?.dataset?.table || target?.dataset?.planned; }
  focus(cell) {
    const to = cell && this.cell(cell.name);
    if (!to) return;
    this.base.querySelectorAll("[tabindex='0']").forEach((c) => c.setAttribute("tabindex", "-1"));
    to.setAttribute("tabindex", "0");
    to.focus();
  }
  // move handles keys. Left, Right, Home and End move in a row, Up and Down to the nearest cell of the
  // row above or below, and Enter or a space selects.
  move(e) {
    const { rows } = this.props.of, name = this.nameOf(e.target);
    const r = rows.findIndex((row) => row.cells.some((c) => c.name === name)), row = rows[r];
    if (!row) return;
    const i = row.cells.findIndex((c) => c.name === name), c = row.cells[i];
    const near = (other) => other?.cells.reduce((best, o) => (Math.abs(o.x + o.w / 2 - c.x - c.w / 2) < Math.abs(best.x + best.w / 2 - c.x - c.w / 2) ? o : best));
    const to = { ArrowLeft: row.cells[i - 1], ArrowRight: row.cells[i + 1], ArrowUp: near(rows[r - 1]), ArrowDown: near(rows[r + 1]), Home: row.cells[0], End: row.cells.at(-1) };
    if (e.key === "Enter" || e.key === " ") this.props.choose(name);
    else if (!(e.key in to)) return;
    e.preventDefault();
    this.focus(to[e.key]);
  }
  render({ of, point, choose }) {
    // An SVG with a listener of focus could get the focus itself, so the listeners are outside.
    return html`<div
      onMouseOver=${(e) => point(this.nameOf(e.target))} onMouseLeave=${() => point()} onfocusin=${(e) => point(this.nameOf(e.target))}
      onClick=${(e) => { const name = this.nameOf(e.target); if (name) { choose(name); this.focus({ name }); } }} onKeyDown=${(e) => this.move(e)}>
      <svg role="grid" class="grid" width=${of.width} height=${of.height} aria-label="Tables by arrival month and event time. Arrows move, Enter selects.">
      <g aria-hidden="true">
        ${ticks(of).map((t) => html`<g key=${t.time}><line class="tick" x1=${of.scale(t.time)} x2=${of.scale(t.time)} y1=${headHeight - 8} y2=${of.height} /><text x=${of.scale(t.time) + 3} y=${headHeight - 12}>${t.text}</text></g>`)}
        ${of.old > 0 && html`<text x=${labelWidth} y=${headHeight - 12}>older</text>`}
        ${of.heads.map((h) => html`<text class="head" x="0" y=${h.y}>${h.group} <tspan class="less">${count(h.count)} tables</tspan></text>`)}
        ${of.rows.map((row) => row.live && html`<rect class="live" x=${row.live[0] - 2} y=${row.y - 2} width=${row.live[1] - row.live[0] + 2} height=${rowHeight + 4} rx="3" />`)}
      </g>
      ${of.rows.map((row) => html`<g role="row" key=${row.key}><text role="rowheader" x="0" y=${row.y + 16}>${monthName(row.arrival)}</text>${row.cells.map((c) => Cell(c, of.most))}</g>`)}
      <g aria-hidden="true"><line class="now" x1=${of.now} x2=${of.now} y1="4" y2=${of.height} /><text class="now" x=${of.now + 4} y="11">now</text>
        ${of.at && html`<line class="now at" x1=${of.at} x2=${of.at} y1="4" y2=${of.height} />`}</g>
    </svg></div>`;
  }
}

// Legend explains colors, outlines and marks.
export const Legend = ({ most }) => html`<div class="legend" aria-hidden="true">
  <span><i class="key heat-0"></i>none</span>${heatSteps(most).map(({ step, from }) => html`<span key=${step}><i class=${"key heat-" + step}></i>${compact(from)}+</span>`)}
  <span class="split"></span>
  ${["ahead", "open", "sealed", "retired"].map((s) => html`<span key=${s}><i class=${"key outline " + s}></i>${s}</span>`)}<span>■ on hold</span><span>+ create</span><span>▾ retire</span><span>× drop</span><span><i class="key live"></i>live</span>
</div>`;
