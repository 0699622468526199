// Device: what did it report, and when did that arrive? The address holds everything that is shown:
// /ui/device/NAME?stream=&with=&fields=&from=&to=&show=&as_of=&archive=&point=&list=
import { html, useEffect, useMemo, useRef, useState } from "../lib/preact.js";
import { pathOf, request, useFetch } from "../api.js";
import { count, minute, plural, second, span } from "../format.js";
import { Badge, Card, Empty, Facts, Failure, Load, Table, Time } from "../parts.js";
import { Select } from "../controls.js";
import { bandLine, colorOf, lateness, Plot, readingsLine } from "../plot.js";
import { href, setQuery } from "../router.js";

const most = 250_000; // after this number of readings of a device, no more pages are read
const detailed = 20_000; // the product of readings and fields above which buckets are shown
const steps = [[60, "1m"], [300, "5m"], [900, "15m"], [3600, "1h"], [10800, "3h"], [21600, "6h"], [43200, "12h"], [86400, "1d"], [604800, "1w"]];
const ranges = ["1h", "6h", "24h", "7d", "30d", "365d"];
const hour = 36e5;
const off = 409; // status of a request for roll-ups if they are switched off
const units = { m: 60e3, h: hour, d: 864e5, w: 7 * 864e5 };

// timeOf returns a time of the address in milliseconds: RFC 3339, or a distance from now, as -24h. For
// any other text, or none, it returns missing.
const timeOf = (text, now, missing) => {
  if (!text) return missing;
  const [, n, unit] = /^-(\d+)([mhdw])$/.exec(text) || [];
  const at = n ? now - n * units[unit] : Date.parse(text);
  return Number.isNaN(at) ? missing : at;
};
// joined returns names as one text of an address, which words divides again. It escapes commas in names. The
// address as a whole is escaped, too.
const joined = (list) => list.map((name) => name.replace(/[%,]/g, encodeURIComponent)).join(",");
const words = (text) => (text || "").split(",").filter(Boolean).map((name) => name.replace(/%2[5C]/g, decodeURIComponent));
const iso = (ms) => new Date(Math.round(ms)).toISOString().replace(".000Z", "Z");

const seriesPath = (stream, device, what) => pathOf("streams", stream, "devices", device, what);

// orEmpty sends a request. It returns empty if the answer is 404, as for a device without readings in
// the stream.
const orEmpty = (path, empty, options) => request(path, options).catch((e) => { if (e.status === 404) return empty; throw e; });

// readColumns reads the readings of a device in a window, page by page. If it stops early, cut is true.
const readColumns = async (stream, device, query, signal) => {
  const none = { time: [], id: [], arrived: [], fields: {} };
  const all = { device, cut: false, archived: [], time: [], id: [], arrived: [], fields: {} };
  for (let cursor = "", limit = 50_000; ; ) {
    const page = await orEmpty(seriesPath(stream, device, "readings"), none, { signal, query: { ...query, format: "columns", limit, cursor } })
      .catch((e) => { if (limit < 2 || e.body?.errors?.[0].location !== "query.format") throw e; });
    if (!page) {
      limit >>= 1; // the texts of so many readings are too large for columns
      continue;
    }
    const before = all.time.length, after = before + page.time.length;
    for (const name of ["time", "id", "arrived"]) all[name] = before ? all[name].concat(page[name]) : page[name];
    for (const name of new Set([...Object.keys(all.fields), ...Object.keys(page.fields)])) {
      const old = all.fields[name] || new Array(before).fill(null);
      all.fields[name] = old.concat(page.fields[name] || new Array(after - before).fill(null));
    }
    all.archived.push(...(page.coverage?.archived || []));
    cursor = page.next;
    if (!cursor) return all;
    if (after >= most) return { ...all, cut: true };
  }
};

// stepOf returns the length of the buckets of a window, in seconds and as text: the shortest one that
// gives at most 600 buckets, or a week.
const stepOf = (length) => steps.find(([size]) => length / 1000 / size <= 600) || steps.at(-1);

// wholeHours returns a window, extended to whole hours, as parameters of a request.
const wholeHours = ({ from, to }) => ({ from: iso(Math.floor(from / hour) * hour), to: iso(Math.ceil(to / hour) * hour) });

// countReadings returns the number of readings of devices in a window of whole hours.
const countReadings = async (view, signal) => {
  const query = { device: view.devices, ...wholeHours(view), source: "rollups", limit: 1, as_of: view.asOf };
  const path = pathOf("streams", view.stream, "counts");
  const answer = await request(path, { signal, query }).catch((e) => {
    if (e.status !== off) throw e;
    return request(path, { signal, query: { ...query, source: "" } });
  });
  return answer.readings;
};

// load reads the readings or buckets of a view, and returns them with the lines of the chart.
const load = async (view, signal) => {
  const begin = performance.now(), { stream, devices, fields } = view;
  const found = view.show ? null : await countReadings(view, signal);
  const kind = view.show || (found * Math.max(fields.length, 1) > detailed ? "band" : "readings");
  const query = { from: iso(view.from), to: iso(view.to), fields: fields.join("").includes(",") ? "" : fields.join(","), as_of: view.asOf, archive: view.archive };
  const result = { kind, found, lines: [], parts: [], requests: 0 };
  const colored = (d, f) => colorOf(devices.indexOf(d) * fields.length + fields.indexOf(f));
  if (kind === "readings") {
    for (const d of devices) {
      const columns = await readColumns(stream, d, query, signal);
      result.parts.push(columns);
      result.cut ||= columns.cut;
    }
    const drawn = performance.now();
    for (const part of result.parts) for (const f of fields) result.lines.push(readingsLine(part.device, f, colored(part.device, f), part));
    result.prepared = performance.now() - drawn;
  } else {
    const [size, step] = stepOf(view.to - view.from);
    const whole = size >= 3600;
    if (whole) Object.assign(query, { source: "rollups", archive: "", ...wholeHours(view) });
    Object.assign(result, { step, source: whole ? "roll-ups" : "readings", query: { ...query, step, functions: "min,max,mean" } });
    const ask = (d) => orEmpty(seriesPath(stream, d, "aggregate"), { buckets: [] }, { signal, query: result.query });
    for (const d of devices) {
      const { buckets, coverage } = await ask(d).catch((e) => {
        if (e.status !== off) throw e;
        Object.assign(result, { source: "readings", query: { ...result.query, source: "", archive: view.archive } });
        return ask(d);
      });
      result.parts.push({ device: d, buckets, archived: coverage?.archived || [] });
      for (const f of fields) result.lines.push(bandLine(d, f, colored(d, f), buckets, size));
    }
  }
  result.query ||= query;
  result.archived = [...new Set(result.parts.flatMap((p) => p.archived))];
  result.ms = performance.now() - begin;
  return result;
};

// loadAlerts returns the alerts of a window. It reads about 10,000 alerts at most, the newest ones before its end.
const loadAlerts = async (view, signal) => {
  const all = [];
  for (const d of view.devices) {
    let cursor = "";
    do {
      const { alerts, next } = await orEmpty(pathOf("devices", d, "alerts"), { alerts: [] }, { signal, query: { to: iso(view.to), limit: 1000, cursor } });
      all.push(...alerts);
      cursor = next;
    } while (cursor && all.length < 10_000);
  }
  return all.filter((a) => (!a.stream || a.stream === view.stream) && (!a.resolved_at || Date.parse(a.resolved_at) > view.from) && !(view.asOf && Date.parse(a.known_since) > Date.parse(view.asOf)));
};

// download saves what is shown as the server writes it, with all digits: one file for each device that has
// readings in the stream.
const download = async (view, shown) => {
  for (const d of view.devices) {
    const path = seriesPath(view.stream, d, shown.kind === "band" ? "aggregate" : "readings");
    const text = await orEmpty(path, "", { query: { ...shown.query, format: "csv" } });
    if (!text) continue;
    const a = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: `${view.stream}-${d}.csv`.replace(/[^\w.-]+/g, "_") });
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10_000);
  }
};

// Why explains one reading: where it is stored, why, and until when.
const Why = ({ view, point }) => {
  const [device, time, id] = words(point);
  const why = useFetch(pathOf("devices", device, "why") + "?" + new URLSearchParams({ time, id, stream: view.stream }));
  const aside = html`<button class="small" onClick=${() => setQuery({ point: "" })}>Close</button>`;
  return html`<${Card} title="Why is this reading stored, and until when?" aside=${aside} id="why"><${Load} of=${why}>${(w) => html`
    <p><strong>${device}</strong> at ${time} <span class="quiet">id <code>${id}</code></span></p>
    ${w.streams.map((s) => html`<p key=${s.stream}>${s.text}</p>
      <${Facts} of=${[
        ["Retention rule", s.rule],
        ...s.readings.flatMap((r) => [["Arrived", `${second(r.arrived)}, ${span(Date.parse(r.arrived) - Date.parse(r.time))} after it happened`], ["Expires", r.expires ? minute(r.expires) : "never"]]),
        ...(s.tables || []).flatMap((t) => [["Table", html`<code>${t.name}</code> ${t.state}${t.hold && ", on hold: " + t.hold}`], ["Table dropped", t.drops ? minute(t.drops) : t.why]]),
      ]} />`)}
  `}<//><//>`;
};

// Cost shows the source of the chart. It also shows the tables and requests that a read of the window
// of the first device needs.
const Cost = ({ view, shown }) => {
  const path = seriesPath(view.stream, view.devices[0], "readings");
  const plan = useFetch(path + "?" + new URLSearchParams({ from: iso(view.from), to: iso(view.to), explain: true, ...(view.archive && { archive: true }) }));
  const read = (plan.data?.tables || []).filter((t) => t.action === "read");
  return html`<${Card} title="Explain and cost"><${Facts} of=${[
    ["Source", shown.kind === "band" ? `${shown.source}, in steps of ${shown.step}` : "readings"],
    ["Readings in the window", shown.found != null ? "about " + count(shown.found) : null],
    ["Answered in", span(Math.round(shown.ms))],
    shown.archived.length > 0 && ["Archived tables read", shown.archived.map((name) => html`<div key=${name}><code>${name}</code></div>`)],
    ["A read of the window", plan.data && plural(plan.data.requests, "request") + (plan.data.units ? `, at least ${count(plan.data.units)} units` : "")],
  ]} />${plan.data?.tables?.length > 0 && html`<details><summary>${read.length} of ${plan.data.tables.length} tables are read</summary>
    <${Table} caption="Tables of the window" rows=${plan.data.tables} keyOf=${(t) => t.name} columns=${[
      { name: "Table", value: (t) => html`<code>${t.name}</code>` }, { name: "Action", value: (t) => t.action }, { name: "Why", value: (t) => t.why },
    ]} /></details>`}<//>`;
};

const Legend = ({ shown }) => html`<div class="series">
  ${shown.lines.map((l) => html`<span key=${l.device + l.field}><i class="swatch" style=${{ background: `var(${l.color})` }}></i>${l.device} <span class="quiet">${l.field}</span>${l.n === 0 && html` <span class="quiet">no numbers</span>`}</span>`)}
  ${shown.kind === "readings" && lateness.map((of, c) => {
    const n = shown.lines.reduce((sum, l) => sum + l.late.subarray(0, l.n).reduce((k, v) => k + (v === c), 0), 0);
    return html`<span key=${of.name} class="late" data-late=${c}><svg class="mark" viewBox="-6 -6 12 12" aria-hidden="true" style=${{ fill: `var(${of.color || "--series-1"})` }}><path d=${of.path} /></svg>${of.name} <b>${count(n)}</b></span>`;
  })}
</div>`;

// rowsOf returns up to limit values of a chart as rows, one device after another, the newest first.
const rowsOf = (shown, limit) => {
  const rows = [];
  for (const p of shown.parts) {
    const times = shown.kind === "band" ? p.buckets : p.time;
    for (let i = times.length - 1; i >= 0 && rows.length < limit; i--) {
      if (shown.kind === "band") rows.push({ ...times[i], device: p.device, time: times[i].start });
      else rows.push({ device: p.device, time: times[i], arrived: p.arrived[i], id: p.id[i], fields: Object.fromEntries(Object.entries(p.fields).map(([k, v]) => [k, v[i]])) });
    }
  }
  return rows;
};

const List = ({ shown, fields, choose }) => html`<${Table} caption="Values, the newest first" rows=${rowsOf(shown, 200)} columns=${[
  { name: "Device", value: (r) => r.device },
  { name: shown.kind === "band" ? "From" : "Time", value: (r) => (r.id ? html`<button class="small" onClick=${() => choose(r)}>${r.time}</button>` : r.time) },
  ...(shown.kind === "band" ? [{ name: "Readings", number: true, value: (r) => count(r.readings) }] : [{ name: "Arrived", value: (r) => `${span(Date.parse(r.arrived) - Date.parse(r.time))} later` }]),
  ...fields.map((f) => ({ name: f, number: true, value: (r) => { const v = r.fields[f]; return v == null ? "–" : v.mean !== undefined ? `${v.min} … ${v.max}` : typeof v === "object" ? JSON.stringify(v) : String(v); } })),
]} />`;

// AsOf chooses a time. The page then shows only readings that had arrived by this time.
const AsOf = ({ view }) => {
  const now = Math.floor(Date.now() / 6e4) * 6e4, at = view.asOf ? Date.parse(view.asOf) : now, timer = useRef();
  const choose = (ms) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuery({ as_of: ms >= now || Number.isNaN(ms) ? "" : iso(ms), point: "" }), 200);
  };
  return html`<div class="row asof"><label for="asof">As known at</label>
    <input id="asof" type="datetime-local" value=${iso(at).slice(0, 16)} max=${iso(now).slice(0, 16)} onChange=${(e) => choose(Date.parse(e.target.value + "Z"))} />
    <input type="range" aria-label="As known at, from the start of the window to now" min=${Math.min(view.from, at)} max=${now} step="60000" value=${at} onInput=${(e) => choose(+e.target.value)} />
    ${view.asOf ? html`<button class="small" onClick=${() => setQuery({ as_of: "" })}>now</button>` : html`<span class="quiet">now: everything that has arrived</span>`}</div>`;
};

// Chart loads and shows a view.
const Chart = ({ view, route }) => {
  const [state, set] = useState({});
  const key = JSON.stringify(view);
  const [again, retry] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    set((s) => ({ ...s, loading: true, error: null }));
    Promise.all([load(view, control.signal), loadAlerts(view, control.signal)]).then(
      ([shown, alerts]) => set({ shown, alerts, view }),
      (error) => control.signal.aborted || set((s) => ({ ...s, loading: false, error })));
    return () => control.abort();
  }, [key, again]);
  const { shown, alerts, error } = state;
  const drawing = useMemo(() => shown && {
    from: state.view.from / 1000, to: state.view.to / 1000, fields: state.view.fields, lines: shown.lines,
    alerts: alerts.map((a) => ({ since: Date.parse(a.since) / 1000, until: a.resolved_at ? Date.parse(a.resolved_at) / 1000 : Infinity, severity: a.severity })),
  }, [shown]);
  const window = (from, to) => setQuery({ from: iso(from), to: iso(to), point: "" }, { replace: false });
  const length = view.to - view.from, middle = (view.to + view.from) / 2;
  const zoom = (by) => window(middle - (length * by) / 2, middle + (length * by) / 2);
  const choose = (r) => setQuery({ point: joined([r.device, r.time, r.id]) });
  const pick = ({ line: l, i }) => choose({ device: l.device, time: l.columns.time[l.row[i]], id: l.columns.id[l.row[i]] });
  const label = `Chart of ${view.fields.join(", ")} of ${view.devices.join(", ")}. Left and right choose a value, down the next line, Enter explains it.`;
  return html`<section class="card chart">
      <div class="row tools-row" role="group" aria-label="Window">
        <button class="small" onClick=${() => window(view.from - length / 2, view.to - length / 2)} aria-label="Earlier">◀</button>
        <button class="small" onClick=${() => window(view.from + length / 2, view.to + length / 2)} aria-label="Later">▶</button>
        <button class="small" onClick=${() => zoom(0.5)} aria-label="Zoom in">+</button>
        <button class="small" onClick=${() => zoom(2)} aria-label="Zoom out">−</button>
        <span class="quiet">${minute(view.from)} to ${minute(view.to)}</span>
        <span class="push"></span>
        ${shown && html`<button class="small" onClick=${() => download(state.view, shown).catch((error) => set((s) => ({ ...s, error })))}>CSV</button>`}
      </div>
      <${Failure} error=${error} retry=${() => retry(again + 1)} />
      ${!shown && !error && html`<p class="quiet plot" role="status">Loading …</p>`}
      ${shown && html`<div class=${state.loading ? "stale" : ""} data-shown=${shown.kind} data-prepared=${shown.prepared?.toFixed(1)}>
        <${Plot} drawing=${drawing} zoom=${(from, to) => window(from * 1000, to * 1000)} pick=${pick} label=${label} />
        ${state.loading && html`<p class="unseen" role="status">Loading …</p>`}
        <${Legend} shown=${shown} /><${AsOf} view=${view} />
        ${shown.cut && html`<p class="notice">Only the first ${count(most)} readings of a device are shown: zoom in to see the others.</p>`}
        ${shown.lines.every((l) => l.n === 0) && html`<${Empty} title="No numbers in this window.">Choose another window or field.<//>`}
      </div>`}
    </section>
    ${route.query.point && html`<${Why} key=${route.query.point} view=${view} point=${route.query.point} />`}
    ${shown && html`<div class="cards facing">
      <${Card} title="Alerts in this window">${html`<${Table} caption="Alerts" rows=${alerts} keyOf=${(a) => a.id} columns=${[
        { name: "Alert", value: (a) => html`<a href=${href("alerts", { state: "all", device: a.device })}>${a.message}</a>` },
        { name: "Since", value: (a) => minute(a.since) },
        { name: "State", value: (a) => html`<${Badge} kind=${a.state === "open" ? "bad" : ""}>${a.state}<//>${a.late && html` <${Badge} kind="warn">late<//>`}` },
      ]} />`}<//>
      <${Cost} view=${state.view} shown=${shown} />
      <${Card} wide title="Values" aside=${html`<button class="small" aria-expanded=${!!route.query.list} onClick=${() => setQuery({ list: route.query.list ? "" : 1 })}>${route.query.list ? "Hide the list" : "Show as a list"}</button>`}>
        ${route.query.list && html`<${List} shown=${shown} fields=${state.view.fields} choose=${choose} />`}<//>
    </div>`}`;
};

// viewOf returns the devices, fields and window that the address selects.
const viewOf = (route, device, health, latest) => {
  const { query } = route, now = Date.now();
  const reading = latest?.reading, known = Object.keys(reading?.fields || {}).sort();
  const numbers = known.filter((f) => ["number", "boolean"].includes(typeof reading.fields[f]));
  const fields = query.fields ? words(query.fields) : numbers.filter((f) => typeof reading.fields[f] === "number").slice(0, 1);
  // Without a window in the address, the window is the last 24 hours, or the 24 hours up to the latest
  // reading if that reading is more than a day old.
  const last = reading ? Date.parse(reading.time) : now;
  const end = !query.from && now - last > 864e5 ? last + 6e4 : Math.ceil(now / 6e4) * 6e4;
  const to = timeOf(query.to, now, end);
  return {
    known: [...new Set([...known, ...fields])], stream: query.stream || health?.streams[0]?.stream,
    devices: [device, ...words(query.with).filter((d) => d !== device)], fields: fields.length ? fields : numbers.slice(0, 1),
    from: Math.min(timeOf(query.from, end, to - 864e5), to - 1000), to, show: query.show || "", asOf: query.as_of ? iso(timeOf(query.as_of, now, now)) : "", archive: query.archive && "true",
  };
};

const Controls = ({ view, route, health, others }) => {
  const toggle = (f) => {
    const next = view.fields.includes(f) ? view.fields.filter((x) => x !== f) : [...view.fields, f];
    setQuery({ fields: joined(next.length ? next : [f]), point: "" });
  };
  const add = (e) => {
    e.preventDefault();
    const name = new FormData(e.target).get("other").trim();
    if (name) setQuery({ with: joined([...view.devices.slice(1), name]), point: "" });
    e.target.reset();
  };
  return html`<div class="row controls">
    <${Select} label="Stream" name="stream" of=${[...new Set([view.stream, ...health.streams.map((s) => s.stream)])]} value=${view.stream} onChange=${(e) => setQuery({ stream: e.target.value, fields: "", point: "" })} />
    <fieldset><legend>Fields</legend><div class="row">${view.known.map((f) => html`<button key=${f} class="small" aria-pressed=${view.fields.includes(f)} onClick=${() => toggle(f)}>${f}</button>`)}</div></fieldset>
    <fieldset><legend>Window</legend><div class="row">${ranges.map((r) => html`<button key=${r} class="small" aria-pressed=${route.query.from === "-" + r && !route.query.to} onClick=${() => setQuery({ from: "-" + r, to: "", point: "" }, { replace: false })}>${r}</button>`)}</div></fieldset>
    <${Select} label="Show" name="show" of=${[["", "automatic"], "readings", ["band", "band of min, mean, max"]]} value=${view.show} onChange=${(e) => setQuery({ show: e.target.value, point: "" })} />
    <label class="row"><input id="archive" type="checkbox" checked=${!!view.archive} onChange=${(e) => setQuery({ archive: e.target.checked && 1, point: "" })} />Archived readings</label>
    <form class="field" onSubmit=${add}><label for="other">Compare with</label><div class="row"><input id="other" name="other" list="others" placeholder="device" size="12" autocomplete="off" /><button class="small">Add</button></div>
      <datalist id="others">${others.map((d) => html`<option key=${d} value=${d} />`)}</datalist></form>
    ${view.devices.slice(1).map((d) => html`<button key=${d} class="small" onClick=${() => setQuery({ with: joined(view.devices.slice(1).filter((x) => x !== d)) })} aria-label=${"Remove " + d}>${d} ×</button>`)}
  </div>`;
};

// findHealth returns the health of a device. The search finds all names that contain the name of the device.
const findHealth = (device) => async (path, options) => {
  for (let cursor = ""; ; ) {
    const { devices, hours, next } = await request(path, { ...options, query: { search: device, sort: "name", limit: 1000, cursor } });
    const found = devices.find((d) => d.device === device);
    if (found || !next) return { hours, device, streams: [], status: "unknown", ...found };
    cursor = next;
  }
};

const Device = ({ device, route }) => {
  const known = useFetch("/v1/device-health", { get: findHealth(device) }), health = known.data;
  const stream = route.query.stream || health?.streams[0]?.stream;
  const latest = useFetch(stream ? pathOf("streams", stream, "devices", device, "latest") : "", { accept: [404] });
  const others = useFetch("/v1/devices?limit=200");
  const minuteNow = Math.floor(Date.now() / 6e4);
  const view = useMemo(() => latest.data && viewOf(route, device, health, latest.data), [latest.data, JSON.stringify(route.query), known.data, route.query.from ? minuteNow : 0]);
  return html`<${Load} of=${known}>${() => html`
    <div class="row about">${health.name && html`<strong>${health.name}</strong>`}
      ${(health.type || health.location) && html`<span class="quiet">${[health.type, health.location].filter(Boolean).join(", ")}</span>`}<${Badge} kind=${health.status === "active" ? "good" : ""}>${health.status}<//>
      <span class="quiet">last seen <${Time} at=${health.last_seen_at} /></span>
      ${health.completeness != null && html`<span class="quiet">${Math.round(health.completeness * 100)} % of the last ${health.hours} h have data</span>`}
      ${health.open_alerts > 0 && html`<a href=${href("alerts", { device })}><${Badge} kind="bad">${health.open_alerts} open<//></a>`}</div>
    ${!stream && html`<${Empty} title="No reading of this device is stored."><a href=${href("devices")}>All devices</a><//>`}
    ${stream && html`<${Load} of=${latest}>${() => view && html`
      <${Controls} view=${view} route=${route} health=${health} others=${(others.data?.devices || []).map((d) => d.device)} />
      <${Chart} view=${view} route=${route} />`}<//>`}
  `}<//>`;
};

export default ({ route }) => (route.rest[0] ? html`<${Device} key=${route.rest[0]} device=${route.rest[0]} route=${route} />` : html`<${Empty} title="No device is chosen."><a href=${href("devices")}>All devices</a><//>`);
