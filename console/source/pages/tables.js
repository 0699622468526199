// Tables: which readings are where, and until when?
import { html, useEffect, useMemo, useRef, useState } from "../lib/preact.js";
import { pathOf, request, useFetch } from "../api.js";
import { bytes, count, day, minute, plural } from "../format.js";
import { cellsOf, Grid, layout, Legend, monthName, parseName, rangeName, spans } from "../grid.js";
import { Badge, Card, Dialog, Empty, Facts, Failure, Load, Table } from "../parts.js";
import { Months, Replay } from "../replay.js";
import { setQuery } from "../router.js";

const DAY = 864e5;
const today = () => Date.parse(day(Date.now()));
const sum = (all, key) => all.reduce((n, one) => n + one[key], 0);

// useWidth returns a reference for an element, and the element's width in pixels: at least 620, and 0
// before the first measurement.
const useWidth = () => {
  const ref = useRef(), [width, set] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => set(Math.max(620, Math.floor(entry.contentRect.width))));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
};

// Slider chooses a day. The address changes when the slider rests, because browsers limit the number of
// changes.
const Slider = ({ at, last }) => {
  const chosen = at ? Math.round((Date.parse(at) - today()) / DAY) : 0;
  const [days, set] = useState(chosen), timer = useRef();
  useEffect(() => set(chosen), [chosen]);
  const move = (n) => {
    set(n);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuery({ at: n > 0 ? day(today() + n * DAY) : "" }), 120);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const date = day(today() + days * DAY);
  return html`<div class="slider"><label for="at">Show the grid and the plan of</label>
    <input id="at" type="range" min="0" max=${last} value=${days} aria-valuetext=${days ? date : "today"} onInput=${(e) => move(Number(e.target.value))} />
    <label class="unseen" for="date">Day</label><input id="date" type="date" value=${date} min=${day(today())} max=${day(today() + last * DAY)} onChange=${(e) => e.target.value && move(Math.max(0, Math.round((Date.parse(e.target.value) - today()) / DAY)))} />
    <button class="small" disabled=${days === 0} onClick=${() => move(0)}>Today</button></div>`;
};

const HoldDialog = ({ table, close, done }) => {
  const [error, fail] = useState();
  const submit = async (e) => {
    e.preventDefault();
    const reason = new FormData(e.target).get("reason");
    await request(pathOf("tables", table, "hold"), { method: "PUT", body: { reason } }).then(done, fail);
  };
  return html`<${Dialog} title="Put this table on hold" close=${close}><form onSubmit=${submit} class="stack">
    <p>While a table is on hold, the rotator neither retires nor drops it.</p>
    <div class="field"><label for="reason">Reason</label><input id="reason" name="reason" required maxlength="200" placeholder="audit of 2026" /></div>
    <${Failure} error=${error} /><div class="row"><button class="primary">Put on hold</button><button type="button" onClick=${close}>Cancel</button></div></form><//>`;
};

// Details shows the cell below the pointer, with the focus, or selected.
const Details = ({ cell, selected, reload }) => {
  const [error, fail] = useState(), [holding, hold] = useState(false);
  useEffect(() => fail(), [cell?.name]);
  if (!cell) return html`<div class="details quiet">Point at a table, or use Tab and the arrow keys. A click or Enter selects it.</div>`;
  const change = (method, ...path) => request(pathOf("tables", cell.name, ...path), { method }).then(() => reload(), fail);
  return html`<div class="details" data-details=${cell.name}>
    <div class="row"><h3>${rangeName(cell)}, arrived ${monthName(cell.arrival)}</h3><${Badge} kind=${{ open: "good", retired: "bad" }[cell.state]}>${cell.state}<//>${cell.hold && html`<${Badge} kind="warn">on hold: ${cell.hold}<//>`}${cell.action && html`<${Badge} kind=${cell.action === "drop" ? "bad" : "warn"}>plan: ${cell.action}<//>`}
      ${selected && !cell.planned && html`<span class="actions">${cell.hold ? html`<button class="small" onClick=${() => change("DELETE", "hold")}>Release</button>` : html`<button class="small" onClick=${() => hold(true)}>Hold …</button>`}
        ${cell.retired && html`<button class="small" onClick=${() => change("POST", "restore")}>Restore</button>`}</span>`}</div>
    <${Failure} error=${error} />
    <${Facts} of=${[
      ["Table", html`<code>${cell.name}</code>`], ["Readings", count(cell.readings) + (cell.full > cell.readings ? " of " + count(cell.full) : "")], ["Size", bytes(cell.bytes)],
      cell.seals && ["Sealed", minute(cell.seals)], !cell.planned && ["Retired", cell.retires ? minute(cell.retires) : "never"], !cell.planned && ["Dropped", cell.drops ? minute(cell.drops) : "never"],
    ]} />
    ${cell.why && html`<p class="quiet">${cell.why}</p>`}
    ${holding && html`<${HoldDialog} table=${cell.name} close=${() => hold(false)} done=${() => { hold(false); reload(); }} />`}
  </div>`;
};

// ApplyDialog asks once more before a plan is applied, and names each table that will be dropped.
const ApplyDialog = ({ plan, close, done }) => {
  const [state, set] = useState({}), [sure, agree] = useState(false);
  const drops = plan.actions.filter((a) => a.action === "drop"), lost = sum(drops, "readings");
  const kinds = [...Map.groupBy(plan.actions, (a) => a.action)];
  const apply = async () => {
    set({ busy: true });
    await request("/v1/tables/apply", { method: "POST", query: { plan: plan.digest } }).then(done, (error) => set({ error: error.status === 409 ? new Error(`Nothing was changed: ${error.message}. Close this dialog, and read the new plan.`) : error }));
  };
  return html`<${Dialog} title="Apply this plan" close=${close}>
    <p>${kinds.map(([kind, all]) => `${kind} ${plural(all.length, "table")}`).join(", ")}. Plan <code>${plan.digest}</code>.</p>
    ${drops.length > 0 && html`<div class="notice bad" id="losses"><p><strong>${plural(drops.length, "table")} with ${plural(lost, "reading")} will be dropped. They cannot be restored.</strong></p>
      <ul>${drops.map((a) => html`<li key=${a.table} data-drop=${a.table}>${tableName(a.table)}: ${plural(a.readings, "reading")}</li>`)}</ul></div>
      <label class="row"><input type="checkbox" id="sure" checked=${sure} onChange=${(e) => agree(e.target.checked)} /> Drop ${plural(lost, "reading")} for good</label>`}
    <${Failure} error=${state.error} />
    <div class="row"><button id="apply-now" class=${drops.length ? "danger" : "primary"} disabled=${state.busy || !!state.error || (drops.length > 0 && !sure)} onClick=${apply}>${drops.length ? `Drop ${plural(drops.length, "table")}` : "Apply"}</button><button onClick=${close}>${state.error ? "Close" : "Cancel"}</button></div>
  <//>`;
};

const tableName = (name) => {
  const t = parseName(name);
  return t ? `${rangeName(t)}, arrived ${monthName(t.arrival)}` : name;
};

// actionKinds has the color of each action, the most important ones first.
const actionKinds = { drop: "bad", retire: "warn", restore: "good", create: "good", tune: "" };
const order = Object.keys(actionKinds);

// Plan lists the actions of a plan with their reasons.
const Plan = ({ of, at, reload }) => {
  const [asked, ask] = useState(), [result, tell] = useState();
  useEffect(() => tell(), [at]);
  const done = (applied) => { ask(); tell(applied); reload(); };
  return html`<${Card} title=${at ? `Plan of ${at}` : "Today's plan"} aside="what a run of the rotator would do with the present tables">
    ${result && html`<div class="notice good" role="alert">Applied: ${plural(result.actions.length, "action")}, ${plural(result.actions.filter((a) => a.action === "drop").length, "table")} dropped.</div>`}
    <${Load} of=${of}>${(plan) => html`<div data-plan=${of.loading ? "" : of.path} data-digest=${plan.digest}>
      ${plan.warnings.map((w) => html`<div class="notice">${w}</div>`)}
      ${plan.actions.length > 0 && html`<p class="row sums">${order.map((kind) => [kind, plan.actions.filter((a) => a.action === kind)]).filter(([, all]) => all.length).map(([kind, all]) => html`<span key=${kind}><${Badge} kind=${actionKinds[kind]}>${kind}<//> ${plural(all.length, "table")} with ${plural(sum(all, "readings"), "reading")}</span>`)}</p>`}
      <${Table} caption="Actions of the plan" rows=${[...plan.actions].sort((a, b) => order.indexOf(a.action) - order.indexOf(b.action))} keyOf=${(a) => a.action + a.table} empty="Nothing to do." columns=${[
        { name: "Action", value: (a) => html`<span data-act=${a.action} data-of=${a.table}><${Badge} kind=${actionKinds[a.action]}>${a.action}<//>${a.tier && html` ${a.tier}`}</span>` },
        { name: "Table", value: (a) => tableName(a.table) },
        { name: "Readings", number: true, value: (a) => count(a.readings) },
        { name: "Size", number: true, value: (a) => bytes(a.bytes) },
        { name: "Reason", value: (a) => a.reason },
      ]} />
      ${plan.skipped.length > 0 && html`<details><summary>${plural(plan.skipped.length, "table")} left as they are</summary><${Table} caption="Tables without an action" rows=${plan.skipped} keyOf=${(s) => s.table} columns=${[
        { name: "Table", value: (s) => tableName(s.table) }, { name: "Readings", number: true, value: (s) => count(s.readings) }, { name: "Reason", value: (s) => s.reason },
      ]} /></details>`}
      ${plan.actions.length > 0 && html`<div class="row below">${at ? html`<span class="quiet">Only today's plan can be applied.</span>` : html`<button id="apply" class="primary" disabled=${of.loading} onClick=${() => ask(plan)}>Apply …</button><span class="quiet">The rotator applies it at its next run. Plan ${plan.digest}</span>`}</div>`}
    </div>`}<//>
    ${asked && html`<${ApplyDialog} plan=${asked} close=${() => { ask(); reload(); }} done=${done} />`}
  <//>`;
};

// List has the tables of the grid in a form for screen readers, and for search in the page.
const List = ({ cells, shown }) => html`<details class="card" open=${shown} onToggle=${(e) => setQuery({ list: e.target.open ? "1" : "" })}><summary>All ${plural(cells.length, "table")} as a list</summary>
  ${shown && html`<${Table} caption="Tables" rows=${cells} keyOf=${(t) => t.name} columns=${[
    { name: "Event time", value: (t) => rangeName(t) }, { name: "Arrived", value: (t) => monthName(t.arrival) }, { name: "State", value: (t) => t.state + (t.hold ? ", on hold" : "") },
    { name: "Readings", number: true, value: (t) => count(t.readings) }, { name: "Size", number: true, value: (t) => bytes(t.bytes) },
    { name: "Retired", value: (t) => day(t.retires) }, { name: "Dropped", value: (t) => day(t.drops) }, { name: "Table", value: (t) => html`<a href=${"?table=" + t.name} onClick=${(e) => { e.preventDefault(); setQuery({ table: t.name }); }}><code>${t.name}</code></a>` },
  ]} />`}</details>`;

// Picture shows the grid and the details of one table. The property when is the shown time; if it is
// missing, the present is shown.
const Picture = ({ list, plan, query, reload, when }) => {
  const begin = performance.now(), [place, width] = useWidth(), [pointed, point] = useState();
  const cells = useMemo(() => cellsOf(list, plan, when || Date.now()), [list, plan, when]);
  const of = useMemo(() => width > 0 && layout(cells, query.span || "fit", width, Date.now(), when), [cells, width, query.span, when]);
  const byName = useMemo(() => new Map(cells.map((c) => [c.name, c])), [cells]);
  const retired = new Set(list.tables.filter((t) => t.state === "retired").map((t) => t.name));
  const shown = byName.get(pointed) || byName.get(query.table);
  return html`<div class="scroll" ref=${place}>${of && html`<${Grid} of=${of} begin=${begin} chosen=${query.table} point=${point} choose=${(table) => setQuery({ table })} />`}</div>
    ${of && html`<${Legend} most=${of.most} />`}
    <${Details} cell=${shown && { ...shown, retired: retired.has(shown.name) }} selected=${shown && shown.name === query.table} reload=${reload} />`;
};

export default ({ route }) => {
  const { query } = route;
  const list = useFetch("/v1/tables", { every: 15000 });
  const plan = useFetch("/v1/tables/plan" + (query.at ? "?at=" + encodeURIComponent(query.at) : ""));
  const reload = () => { list.reload(); plan.reload(); };
  const tables = list.data?.tables || [];
  const last = Math.min(1500, Math.max(120, ...tables.filter((t) => t.drops).map((t) => Math.ceil((Date.parse(t.drops) - today()) / DAY) + 31)));
  return html`
    <${Card} title=${list.data && `${plural(tables.length, "table")}, ${plural(sum(tables, "readings"), "reading")}, ${bytes(sum(tables, "bytes"))}`}
      aside=${html`<${Months} tables=${tables} query=${query} /> <label for="span">Event time </label><select id="span" value=${query.span || "fit"} onChange=${(e) => setQuery({ span: e.target.value === "fit" ? "" : e.target.value })}>${spans.map(([id, name]) => html`<option key=${id} value=${id}>${name}</option>`)}</select>`}>
      <p class="quiet lead">Event time runs across, and arrival months run down. The marked diagonal is live data. Data left of it arrived late.</p>
      <${Load} of=${list}>${(l) => (l.tables.length === 0
        ? html`<${Empty} title="No table exists yet.">The rotator creates tables at its first run.<//>`
        : query.replay
          ? html`<${Replay} list=${l} query=${query}>${(known, when) => html`<${Picture} list=${known} query=${query} reload=${reload} when=${when} />`}<//>`
          : html`<${Slider} at=${query.at} last=${last} /><${Picture} list=${l} plan=${plan.stale ? undefined : plan.data} query=${query} reload=${reload} when=${query.at && Date.parse(query.at)} />`)}<//>
    <//>
    ${!query.replay && html`<${Plan} of=${plan} at=${query.at} reload=${reload} />`}
    <${List} cells=${useMemo(() => cellsOf({ tables }, undefined, Date.now()), [list.data])} shown=${query.list === "1"} />`;
};
