// Now: is the server healthy, and what arrived?
import { html } from "../lib/preact.js";
import { useFetch, useNames } from "../api.js";
import { ago, bytes, clock, compact, count, plural, span } from "../format.js";
import { can } from "../pages.js";
import { Badge, Card, Empty, Facts, Load, Time } from "../parts.js";
import { href } from "../router.js";
import { Start, Snippets } from "./start.js";

const severities = { critical: "bad", warning: "warn", info: "" };

// metric returns the value of a metric without labels, or null if it is missing or unknown.
const metric = (text, name) => {
  const found = new RegExp(`^${name} (\\S+)$`, "m").exec(text || "");
  return found && Number.isFinite(Number(found[1])) ? Number(found[1]) : null;
};

const Health = ({ ready, metrics, grant }) => html`<${Card} title="Health" aside=${ready.data && html`<${Badge} kind=${!ready.data.ready ? "bad" : ready.data.conditions?.length ? "warn" : "good"}>${!ready.data.ready ? "not ready" : ready.data.conditions?.length ? "impaired" : "healthy"}<//>`}>
  <${Load} of=${ready}>${(r) => html`
    ${(r.conditions || []).map((c) => html`<div class="notice" key=${c.name}><strong>${c.name.replaceAll("_", " ")}</strong>, since <${Time} at=${c.since} />: ${c.message}</div>`)}
    ${r.why && !r.conditions?.length && html`<div class="notice">${r.why}</div>`}
    ${grant.watcher ? html`<${Facts} of=${[
      ["Next month's tables", html`${count(r.tables_ready_ahead)} of ${count(r.tables_needed_ahead)} ${r.tables_ready_ahead < r.tables_needed_ahead ? html`<${Badge} kind="warn">missing<//>` : html`<${Badge} kind="good">ready<//>`}`],
      ["Last run of the rotator", r.last_rotation ? html`<${Time} at=${r.last_rotation} />` : "none yet"],
      r.rotation_error && ["Last error of the rotator", r.rotation_error],
      metrics.data && ["Size of all tables", metric(metrics.data, "varve_stored_bytes") ? bytes(metric(metrics.data, "varve_stored_bytes")) : "measuring…"],
      metric(metrics.data, "varve_disk_free_bytes") != null && ["Free disk space", bytes(metric(metrics.data, "varve_disk_free_bytes"))],
      metric(metrics.data, "varve_rollups_backlog") != null && ["Hours waiting for roll-ups", count(metric(metrics.data, "varve_rollups_backlog"))],
    ]} />` : html`<p class="quiet">${r.ready ? "Readings can be stored and read." : "Readings cannot be stored now."}</p>`}`}<//>
<//>`;

const OpenAlerts = ({ list }) => {
  const names = useNames(list.data?.alerts.slice(0, 6).map((a) => a.device));
  return html`<${Card} title="Open alerts" aside=${html`<a href=${href("alerts")}>All alerts</a>`}>
    <${Load} of=${list}>${({ alerts, next }) => alerts.length === 0
      ? html`<${Empty} title="No alert is open." />`
      : html`<ul class="plain">${alerts.slice(0, 6).map((a) => html`<li key=${a.id}>
          <${Badge} kind=${severities[a.severity]}>${a.severity}<//>
          <span><strong>${names[a.device] || a.device}</strong> <span class="quiet">${a.message}, since <${Time} at=${a.since} />${a.late && html` <${Badge}>known late<//>`}</span></span></li>`)}
        ${(alerts.length > 6 || next) && html`<li class="quiet">and ${next ? "more" : plural(alerts.length - 6, "other")}</li>`}</ul>`}<//>
  <//>`;
};

const verdicts = [["stored", "stored"], ["duplicates", "duplicate"], ["rejected", "rejected"]];

// Minutes shows the readings of the last hour as stacked bars, one a minute.
const Minutes = ({ of }) => {
  const all = of.minutes, top = Math.max(1, ...all.map((m) => m.stored + m.duplicates + m.rejected));
  const sums = verdicts.map(([key, name]) => [key, name, all.reduce((n, m) => n + m[key], 0)]);
  return html`<div class="legend">${sums.map(([key, name, n]) => html`<span key=${key}><i class=${"dot " + key}></i>${count(n)} ${name}</span>`)}</div>
    <div class="bars" role="img" aria-label=${"Readings of the last hour: " + sums.map(([, name, n]) => count(n) + " " + name).join(", ")}>
      <span class="top">${compact(top)} a minute</span>
      ${all.map((m) => html`<div key=${m.at} title=${`${clock(m.at)}: ${sums.map(([key, name]) => count(m[key]) + " " + name).join(", ")}`}>
        ${verdicts.map(([key]) => m[key] > 0 && html`<i class=${key} style=${{ height: `${Math.max(2, (100 * m[key]) / top)}%` }}></i>`)}</div>`)}
    </div>
    <div class="ends"><span>${clock(all[0].at)}</span><span>${clock(all[30].at)}</span><span>now</span></div>`;
};

const lagName = (s) => span(s * 1000);

// Lag shows how late the readings of each stream arrived. Each row is a histogram on a logarithmic axis.
const Lag = ({ of }) => {
  const heads = [...of.bounds.map((b, i) => (i === 0 ? "early" : "< " + lagName(b))), "≥ " + lagName(of.bounds.at(-1))];
  const rows = of.streams.filter((s) => s.stored > 0);
  const used = heads.map((_, i) => i).filter((i) => i > 0 || rows.some((s) => s.lag[0] > 0));
  if (rows.length === 0) return html`<${Empty} title="No reading was stored since the process started.">The histogram fills as readings arrive.<//>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Lag of stored readings by stream"><table class="lag">
    <caption class="unseen">Stored readings by lag, from the event to the arrival</caption>
    <thead><tr><th scope="col">Stream</th>${used.map((i) => html`<th scope="col" class="number">${heads[i]}</th>`)}</tr></thead>
    <tbody>${rows.map((s) => {
      const most = Math.log10(1 + Math.max(...s.lag));
      return html`<tr key=${s.stream}><th scope="row">${s.stream || "other streams"}<br /><span class="quiet">${compact(s.stored)}</span></th>
        ${used.map((i) => html`<td><span class=${"column" + (i > 4 ? " late" : "")}><b>${s.lag[i] ? compact(s.lag[i]) : ""}</b>${s.lag[i] > 0 && html`<i style=${{ height: `${Math.max(4, (48 * Math.log10(1 + s.lag[i])) / most)}px` }}></i>`}<span class="unseen">${s.lag[i] ? "" : "0"}</span></span></td>`)}</tr>`;
    })}</tbody></table></div>`;
};

export default ({ grant, route }) => {
  const reads = can(grant, "read");
  const ready = useFetch("/readyz", { accept: [503], every: 10000 });
  const metrics = useFetch(grant.watcher && "/metrics", { every: 30000 });
  const streams = useFetch(reads && "/v1/streams", { every: 10000 });
  const arrivals = useFetch(reads && "/v1/arrivals", { every: 5000 });
  const open = useFetch(reads && "/v1/alerts?state=open&limit=50", { every: 15000 });
  const stored = () => [streams, arrivals].forEach((f) => f.reload());
  const health = html`<${Health} ready=${ready} metrics=${metrics} grant=${grant} />`;
  if (!reads) return html`<div class="cards">${health}<${Card} title="Send readings"><${Snippets} grant=${grant} route=${route} /><//></div>`;
  if (!streams.data) return html`<div class="cards">${health}<${Card} title="Streams"><${Load} of=${streams} /><//></div>`;
  if (streams.data.streams.length === 0) return html`<${Start} grant=${grant} route=${route} stored=${stored} /><div class="cards below">${health}</div>`;
  return html`<div class="cards">
    ${health}
    <${OpenAlerts} list=${open} />
    <${Card} wide title="Arrivals" aside="readings a minute, last hour"><${Load} of=${arrivals}>${(a) => html`<${Minutes} of=${a} />`}<//><//>
    <${Card} wide title="Lag by stream" aside=${arrivals.data && `time from event to arrival, since ${ago(arrivals.data.since)}`}><${Load} of=${arrivals}>${(a) => html`<${Lag} of=${a} />`}<//><//>
    <details class="card wide"><summary>Send readings to this server</summary><${Snippets} grant=${grant} route=${route} /></details>
  </div>`;
};
