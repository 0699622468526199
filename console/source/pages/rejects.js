// Rejects: what was refused, why, and can it be stored after all?
import { html, useState } from "../lib/preact.js";
import { pathOf, useFetch } from "../api.js";
import { count, plural } from "../format.js";
import { Badge, Card, Empty, Failure, Load, Table, Time } from "../parts.js";
import { Ask, Choice, Field, Pages, Search, Select, useAction } from "../controls.js";
import { setQuery } from "../router.js";
import { can } from "../pages.js";

// groupsOf counts rejects by code and device.
const groupsOf = (list) => Object.values(list.reduce((all, r) => {
  const g = (all[r.code + " " + (r.device || "")] ||= { code: r.code, device: r.device, rejects: 0, times: 0, message: r.message });
  g.rejects++;
  g.times += r.times;
  return all;
}, {})).sort((a, b) => b.rejects - a.rejects);

// Replay rereads rejects with other options. The first request only checks.
const Replay = ({ one, select, done, close }) => {
  const [answer, set] = useState(), [options, change] = useState({});
  const [run, error, busy] = useAction(set);
  const path = one ? pathOf("rejects", one.id, "replay") : "/v1/rejects/replay", chosen = Object.fromEntries(Object.entries(options).filter(([, v]) => v));
  const send = (dry, then) => run(path, { method: "POST", body: { ...chosen, dry_run: dry, ...(one ? {} : { select, limit: 1000 }) } }, then);
  const edit = (e) => { set(); change({ ...options, [e.target.name]: e.target.value }); };
  return html`<${Card} title=${one ? "Replay a reject" : "Replay the selected rejects"} aside=${html`<button class="small" onClick=${close}>Close</button>`} id="replay">
    <form class="row" onSubmit=${(e) => { e.preventDefault(); send(true); }}>
      <${Select} label="Numeric times are in" name="precision" of=${[["", "as sent"], "s", "ms", "us", "ns"]} onChange=${edit} />
      <${Select} label="Event time" name="time" of=${[["", "as sent"], ["arrival", "its arrival"]]} onChange=${edit} />
      <${Field} label="Shift times by" name="shift" placeholder="-2h" size="6" onInput=${edit} /><${Field} label="Device" name="device" placeholder="as sent" size="10" onInput=${edit} />
      <button class="primary" disabled=${busy}>Check</button>
      ${answer?.valid > 0 && html`<button class="primary" type="button" disabled=${busy} onClick=${() => send(false, done)}>Store ${plural(answer.valid, "reading")}</button>`}
    </form><${Failure} error=${error} />
    ${answer && html`<p id="checked" aria-live="polite">${plural(answer.valid || 0, "reading")} of ${plural(answer.rejects, "reject")} can be stored, ${count(answer.rejected + (answer.skipped || 0))} cannot.</p>
      ${answer.problems?.slice(0, 5).map((p) => html`<p key=${p.id} class="quiet"><code>${p.code}</code> ${p.message}</p>`)}`}<//>`;
};

export default ({ grant, route: { query } }) => {
  const { cursor, ...select } = query, chosen = Object.fromEntries(["stream", "device", "code", "since"].filter((k) => select[k]).map((k) => [k, select[k]]));
  const list = useFetch("/v1/rejects?" + new URLSearchParams({ ...chosen, ...(cursor ? { cursor } : {}), limit: 200 }));
  const [replay, open] = useState(), [gone, ask] = useState(), [told, tell] = useState("");
  const [run, error, busy] = useAction((a) => { ask(); tell(`${plural(a.deleted, "reject")} deleted.`); list.reload(); });
  const done = (a) => { open(); tell(`${plural(a.stored, "reading")} stored, ${count(a.duplicates)} stored before, ${count(a.rejected)} rejected again.`); list.reload(); };
  const admin = can(grant, "admin"), writer = can(grant, "write");
  const actions = (r) => html`<span class="row">${writer && r.replayable && html`<button class="small" aria-label=${"replay " + r.id} onClick=${() => open({ one: r })}>replay</button>`}
    ${admin && html`<button class="small" aria-label=${"delete " + r.id} onClick=${() => ask({ one: r })}>delete</button>`}</span>`;
  return html`<div class="row controls"><${Search} label="Code" name="code" query=${query} /><${Search} label="Device" name="device" query=${query} /><${Search} label="Stream" name="stream" query=${query} />
      <${Choice} label="Since" name="since" query=${query} of=${[["", "ever"], ["-1h", "an hour"], ["-24h", "a day"], ["-7d", "a week"]]} /></div>
    ${told && html`<p class="notice" aria-live="polite" id="told">${told}</p>`}<${Failure} error=${!gone && error} />
    ${replay && html`<${Replay} key=${replay.one?.id} ...${replay} select=${chosen} done=${done} close=${() => open()} />`}
    <${Load} of=${list}>${(l) => (l.rejects.length === 0 ? html`<${Card}><${Empty} title="Nothing was refused.">Rejected readings appear here with their text.<//><//>` : html`
      <${Card} title="By code and device" aside=${html`<span class="row">${writer && html`<button class="small" onClick=${() => open({})}>Replay all of these</button>`}${admin && html`<button class="small" onClick=${() => ask({})}>Delete all of these</button>`}</span>`}>
        <${Table} caption="Rejects by code and device" rows=${groupsOf(l.rejects)} columns=${[
          { name: "Code", value: (g) => html`<button class="small" onClick=${() => setQuery({ code: g.code, device: g.device || "" })}>${g.code}</button>` }, { name: "Device", value: (g) => g.device || "–" },
          { name: "Rejects", number: true, value: (g) => count(g.rejects) }, { name: "Arrived", number: true, value: (g) => plural(g.times, "time") }, { name: "Example", value: (g) => g.message }]} /><//>
      <${Card} title=${l.next || cursor ? "A page of rejects" : plural(l.rejects.length, "reject")}><${Table} caption="Rejects" rows=${l.rejects} keyOf=${(r) => r.id} columns=${[
        { name: "Last", value: (r) => html`<${Time} at=${r.last} />${r.times > 1 && html`<br /><span class="quiet">${plural(r.times, "time")}</span>`}` },
        { name: "From", value: (r) => html`${r.stream || "–"}<br /><span class="quiet">${r.device || "–"} ${r.door}</span>` },
        { name: "Why", value: (r) => html`<${Badge} kind="warn">${r.code}<//><br />${r.message}` },
        { name: "Text", value: (r) => html`<code class="text" tabindex="0">${r.text || r.base64}${r.cut && " …"}</code>` },
        (writer || admin) && { name: "Actions", value: actions }].filter(Boolean)} /><${Pages} query=${query} next=${l.next} /><//>`)}<//>
    ${gone && html`<${Ask} title=${gone.one ? "Delete the reject" : "Delete the selected rejects"} close=${() => ask()} error=${error} busy=${busy} yes=${() => run(gone.one ? pathOf("rejects", gone.one.id) : "/v1/rejects", { method: "DELETE", query: gone.one ? {} : { ...chosen, limit: 1000 } })}>
      <p>${gone.one ? "Its text cannot be restored." : "This deletes up to 1,000 of the selected rejects. Their texts cannot be restored."}</p><//>`}`;
};
