// Alerts and rules: what is wrong, since when, and which rules watch for it?
import { html, useEffect, useMemo, useState } from "../lib/preact.js";
import { pathOf, request, useFetch } from "../api.js";
import { count, jsonOf, minute, plural, span } from "../format.js";
import { Badge, Card, Empty, Failure, Load, Table, Time } from "../parts.js";
import { Ask, Choice, Field, Pages, Select, useAction } from "../controls.js";
import { href, setQuery } from "../router.js";
import { can } from "../pages.js";

const kinds = { critical: "bad", warning: "warn", info: "" };
const comparisons = [">", ">=", "<", "<=", "==", "!="];
const severities = ["critical", "warning", "info"];
const lasted = (a) => span((a.resolved_at ? Date.parse(a.resolved_at) : Date.now()) - Date.parse(a.since));

const Alerts = ({ grant, query }) => {
  const { device = "", severity = "", rule = "", cursor = "" } = query, state = query.state || "open";
  const path = device ? pathOf("devices", device, "alerts") : "/v1/alerts";
  const list = useFetch(path + "?" + new URLSearchParams(Object.entries({ state: state === "all" ? "" : state, severity: device ? "" : severity, rule, cursor, limit: 50 }).filter(([, v]) => v)), { every: 15_000 });
  const [run, error, busy] = useAction(list.reload);
  const act = (a, what, body = {}) => html`<button class="small" disabled=${busy} aria-label=${`${what}: ${a.message}, ${a.device}`} onClick=${() => run(pathOf("alerts", a.id, what), { method: "POST", body })}>${what}</button>`;
  const muted = (a) => a.muted_until && Date.parse(a.muted_until) > Date.now();
  const columns = [
    { name: "Alert", value: (a) => html`<${Badge} kind=${kinds[a.severity]}>${a.severity}<//> ${a.message}${a.value !== undefined && html` <span class="quiet">value ${String(a.value)}</span>`}` },
    { name: "Device", value: (a) => html`<a href=${href(["device", a.device], { stream: a.stream, from: new Date(Date.parse(a.since) - 864e5).toISOString(), to: a.resolved_at && new Date(Date.parse(a.resolved_at) + 864e5).toISOString() })}>${a.device}</a>` },
    { name: "Since", value: (a) => html`${minute(a.since)}<br /><span class="quiet">${a.state === "open" ? "for " : "lasted "}${lasted(a)}</span>` },
    { name: "Known since", value: (a) => html`${a.known_since && html`<${Time} at=${a.known_since} />`} ${a.late && html`<${Badge} kind="warn">late<//>`}` },
    { name: "State", value: (a) => html`${a.state === "open" ? html`<${Badge} kind="bad">open<//>` : html`<span title=${a.resolved_at}>resolved by ${a.resolved_by.replace("_", " ")}</span>`}
      ${a.acknowledged && html`<br /><span class="quiet">acknowledged${a.acknowledged.by && " by " + a.acknowledged.by}</span>`}${muted(a) && html`<br /><span class="quiet">muted until ${minute(a.muted_until)}</span>`}` },
    can(grant, "write") && { name: "Actions", value: (a) => a.state === "open" && html`<span class="row">${act(a, "resolve")}${!a.acknowledged && act(a, "acknowledge")}${!muted(a) && act(a, "mute", { for: "24h" })}</span>` },
  ].filter(Boolean);
  return html`<${Card} title="Alerts" aside=${device && html`Only ${device} <button class="small" onClick=${() => setQuery({ device: "" })}>Show all</button>`}>
    <div class="row controls"><${Choice} label="State" name="state" query=${query} of=${[["", "open"], ["resolved", "resolved"], ["all", "open and resolved"]]} />
      ${!device && html`<${Choice} label="Severity" name="severity" query=${query} of=${severities} />`}</div>
    <${Failure} error=${error} />
    <${Load} of=${list}>${(l) => (l.alerts.length ? html`<${Table} caption="Alerts" rows=${l.alerts} keyOf=${(a) => a.id} columns=${columns} /><${Pages} query=${query} next=${l.next} />` : html`<${Empty} title=${state === "open" ? "No alert is open." : "No alert matches."}><//>`)}<//><//>`;
};

const condition = (r) => (r.kind === "deadman" ? "no reading" : `${r.field} ${r.comparison} ${r.threshold}`) + (r.for && r.for !== "0s" ? " for " + r.for : "");

// Timeline draws the alerts of a preview: a row for each of the first 12 devices with alerts, and a bar
// for each alert.
const Timeline = ({ preview, severity }) => {
  const from = Date.parse(preview.from), length = Date.parse(preview.to) - from, devices = [...new Set(preview.alerts.map((a) => a.device))].slice(0, 12);
  const x = (t) => 110 + (Math.max(t - from, 0) / length) * 690;
  return html`<svg class="timeline" viewBox=${`0 0 800 ${devices.length * 22 + 22}`} role="img" aria-label=${`${preview.total} alerts in 30 days`}>
    ${[0, 10, 20, 30].map((d) => html`<text x=${x(from + (length * d) / 30)} y=${devices.length * 22 + 17} text-anchor=${d === 30 ? "end" : "start"}>${minute(from + (length * d) / 30).slice(0, 10)}</text>`)}
    ${devices.map((d, i) => html`<g key=${d}><text x="0" y=${i * 22 + 15}>${d.slice(0, 15)}</text><line x1="110" x2="800" y1=${i * 22 + 11} y2=${i * 22 + 11} />
      ${preview.alerts.filter((a) => a.device === d).map((a) => {
        const begin = x(Date.parse(a.since)), end = a.resolved_at ? x(Date.parse(a.resolved_at)) : 800;
        return html`<rect class=${severity} x=${begin} y=${i * 22 + 4} width=${Math.max(end - begin, 2)} height="14" data-since=${a.since}><title>${d}: ${minute(a.since)} to ${a.resolved_at ? minute(a.resolved_at) : "now"}</title></rect>`;
      })}</g>`)}</svg>`;
};

// textOf returns a rule as JSON. Its threshold has the digits that were typed.
const textOf = ({ threshold, ...rest }) => JSON.stringify(rest).slice(0, -1) + (threshold ? `,"threshold":${jsonOf(threshold.trim())}}` : "}");

// NewRule has its draft in the address. It shows the alerts that the rule would have opened in the last
// 30 days, unless the rule is a deadman rule.
const NewRule = ({ query, grant, made }) => {
  const streams = useFetch("/v1/streams");
  const draft = useMemo(() => ({ comparison: ">", severity: "warning", for: "", threshold: "", ...JSON.parse(query.draft || "{}") }), [query.draft]);
  const [seen, set] = useState({});
  const deadman = draft.kind === "deadman";
  const body = deadman ? { kind: "deadman", stream: draft.stream, device: draft.device, for: draft.for, severity: draft.severity, id: draft.id } : { ...draft };
  for (const [k, v] of Object.entries(body)) if (v === "" || v === undefined) delete body[k];
  const complete = deadman || (body.field && body.threshold && (body.stream || body.device)), key = JSON.stringify({ ...body, id: undefined });
  useEffect(() => {
    if (!complete || deadman) return set({});
    const control = new AbortController();
    const timer = setTimeout(() => request("/v1/alert-rules/preview", { method: "POST", body: textOf(body), signal: control.signal }).then((preview) => set({ preview, key }), (error) => control.signal.aborted || set({ error })), 300);
    return () => { clearTimeout(timer); control.abort(); };
  }, [key]);
  const [run, error, busy] = useAction(made);
  const change = (e) => setQuery({ draft: JSON.stringify({ ...draft, [e.target.name]: e.target.value }) });
  const field = (label, name, rest) => html`<${Field} label=${label} name=${name} value=${draft[name] || ""} onInput=${change} ...${rest} />`;
  const select = (label, name, of) => html`<${Select} label=${label} name=${name} of=${of} value=${draft[name] || ""} onChange=${change} />`;
  const { preview } = seen;
  return html`<${Card} title="New rule" aside=${html`<button class="small" onClick=${() => setQuery({ new: "", draft: "" })}>Close</button>`}>
    <form class="row" onSubmit=${(e) => { e.preventDefault(); run("/v1/alert-rules", { method: "POST", body: textOf(body) }); }}>
      ${select("Kind", "kind", [["", "a value"], ["deadman", "silence"]])}
      ${select("Stream", "stream", [["", "any"], ...(streams.data?.streams || []).map((s) => s.name)])}
      ${field("Device", "device", { placeholder: "all", size: 10 })}
      ${!deadman && html`${field("Field", "field", { required: true, size: 12 })}${select("Is", "comparison", comparisons)}${field("Threshold", "threshold", { required: true, size: 7 })}`}
      ${field("For", "for", { placeholder: deadman ? "10m" : "at once", size: 6, required: deadman })}
      ${select("Severity", "severity", severities)}${field("Name", "id", { placeholder: "generated", size: 12 })}
      <button class="primary" disabled=${busy || !can(grant, "admin")}>Save the rule</button>
    </form>
    <${Failure} error=${error || seen.error} />
    ${deadman && html`<p class="quiet">A rule on silence follows the clock, so it has no preview.</p>`}
    ${complete && !deadman && !preview && !seen.error && html`<p class="quiet" role="status">Reading 30 days …</p>`}
    ${preview && html`<p id="preview" data-total=${preview.total}><strong>${plural(preview.total, "alert")}</strong> in the last 30 days, from ${count(preview.readings)} readings of ${plural(preview.series, "device")}. ${preview.rule.gap !== "none" && html`<span class="quiet">A gap of ${preview.rule.gap} ends an alert.</span>`}</p>
      ${preview.notes?.map((n) => html`<p class="notice">${n.message}</p>`)}
      ${preview.total > 0 && html`<${Timeline} preview=${preview} severity=${draft.severity} />`}`}<//>`;
};

const Rules = ({ grant, query, list }) => {
  const [gone, ask] = useState();
  const [run, error, busy] = useAction(() => { ask(); list.reload(); });
  const admin = can(grant, "admin"), one = (r) => pathOf("alert-rules", r.id), muted = (r) => r.muted_until && Date.parse(r.muted_until) > Date.now();
  return html`<${Card} title="Rules" aside=${!query.new && html`<button class="small" onClick=${() => setQuery({ new: 1 })}>New rule</button>`}>
    <${Failure} error=${!gone && error} />
    <${Load} of=${list}>${(l) => html`<${Table} caption="Rules" empty="No rule exists yet. A new rule shows the alerts that it would have opened." rows=${l.rules} keyOf=${(r) => r.id} columns=${[
      { name: "Rule", value: (r) => html`<a href=${href("alerts", { rule: r.id, state: "all" })}>${r.id}</a>` },
      { name: "Condition", value: (r) => html`<${Badge} kind=${kinds[r.severity]}>${r.severity}<//> ${condition(r)}` },
      { name: "Watches", value: (r) => [r.stream, r.device].filter(Boolean).join(", ") || "all active devices" },
      { name: "Muted", value: (r) => muted(r) && "until " + minute(r.muted_until) },
      admin && { name: "Actions", value: (r) => html`<span class="row"><button class="small" aria-label=${(muted(r) ? "unmute" : "mute for a day") + ": " + r.id} disabled=${busy} onClick=${() => run(one(r) + "/mute", muted(r) ? { method: "DELETE" } : { method: "POST", body: { for: "24h" } })}>${muted(r) ? "unmute" : "mute for a day"}</button>
        <button class="small" aria-label=${"delete " + r.id} onClick=${() => ask(r)}>delete</button></span>` },
    ].filter(Boolean)} />`}<//>
    ${gone && html`<${Ask} title="Delete the rule" close=${() => ask()} error=${error} busy=${busy} yes=${() => run(one(gone), { method: "DELETE" })}><p>Rule <strong>${gone.id}</strong> opens no more alerts, and its open alerts are resolved.</p><//>`}<//>`;
};

export default ({ grant, route: { query } }) => {
  const rules = useFetch("/v1/alert-rules");
  const made = () => { setQuery({ new: "", draft: "" }); rules.reload(); };
  return html`${query.new && html`<${NewRule} query=${query} grant=${grant} made=${made} />`}<${Alerts} grant=${grant} query=${query} key=${query.device} /><${Rules} grant=${grant} query=${query} list=${rules} />`;
};
