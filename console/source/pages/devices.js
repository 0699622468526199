// Devices: which devices need attention? The worst device comes first.
import { html } from "../lib/preact.js";
import { useFetch } from "../api.js";
import { count, plural, second, span } from "../format.js";
import { Badge, Card, Empty, Load, Table, Time } from "../parts.js";
import { Choice, Pages, Search } from "../controls.js";
import { href } from "../router.js";

const share = (d) => d.hours_due === 0 ? "new" : d.completeness != null && html`<span class="row share"><meter min="0" max="1" low="0.8" high="0.95" optimum="1" value=${d.completeness} aria-label="Completeness"></meter><span>${Math.floor(d.completeness * 100)} %</span></span>`;
const dead = (d) => d.status === "active" && d.hours_with === 0 && d.hours_due > 0 && !(Date.now() - Date.parse(d.last_seen_at) < 36e5);

const columns = (query) => [
  { name: "Device", value: (d) => html`<a href=${href(["device", d.device], { stream: d.streams[0]?.stream })}>${d.device}</a>${d.name && html`<br /><span class="quiet">${d.name}</span>`}` },
  { name: "Status", value: (d) => html`<${Badge} kind=${{ active: "good", maintenance: "warn" }[d.status]}>${d.status}<//>` },
  { name: "Open alerts", value: (d) => d.open_alerts > 0 && html`<a href=${href("alerts", { device: d.device })}><${Badge} kind=${d.severity === "critical" ? "bad" : "warn"}>${count(d.open_alerts)} ${d.severity}<//></a>` },
  { name: "Last seen", value: (d) => (dead(d) ? html`<span class="bad-text"><${Time} at=${d.last_seen_at} /></span>` : html`<${Time} at=${d.last_seen_at} />`) },
  { name: "Last event", value: (d) => d.streams[0] && html`<time datetime=${d.streams[0].time} title=${d.streams[0].stream}>${second(d.streams[0].time)}</time>` },
  { name: "Lag", number: true, value: (d) => d.lag_seconds != null && span(d.lag_seconds * 1000) },
  { name: "Data in " + (query.window || "24h"), number: true, value: share },
  { name: "Type, location", value: (d) => [d.type, d.location].filter(Boolean).join(", ") },
];

export default ({ route: { query } }) => {
  const list = useFetch("/v1/device-health?" + new URLSearchParams({ limit: 50, ...query }), { every: 30_000 });
  return html`<div class="row controls">
      <${Search} label="Search" name="search" query=${query} />
      <${Search} label="Attribute" name="attribute" query=${query} hint="site:north" />
      <${Choice} label="Status" name="status" query=${query} of=${["active", "maintenance", "inactive"]} />
      <${Choice} label="Order" name="sort" query=${query} of=${[["", "worst first"], ["name", "name"], ["last_seen", "longest silence"], ["lag", "longest lag"], ["completeness", "least data"]]} />
      <${Choice} label="Data in" name="window" query=${query} of=${[["", "24 hours"], ["7d", "7 days"], ["30d", "30 days"]]} />
    </div>
    <${Load} of=${list}>${(l) => html`<${Card} title=${plural(l.total, "device")}>
      ${l.total === 0 && html`<${Empty} title="No device matches.">${!query.search && !query.attribute && "A device appears with its first reading."}<//>`}
      ${l.total > 0 && html`<${Table} caption="Devices" rows=${l.devices} keyOf=${(d) => d.device} columns=${columns(query)} /><${Pages} query=${query} next=${l.next} />`}
    <//>`}<//>`;
};
