// Keys: who may do what?
import { html, useState } from "../lib/preact.js";
import { firstKey, pathOf, setKey, useFetch } from "../api.js";
import { day } from "../format.js";
import { Badge, Card, Copy, Failure, Load, Table, Time } from "../parts.js";
import { Ask, Field, Select, useAction } from "../controls.js";

const NewKey = ({ grant, made }) => {
  const [run, error, busy] = useAction(made);
  const submit = (e) => {
    e.preventDefault();
    const f = new FormData(e.target), days = +f.get("days");
    let isMade = false;
    firstKey.made = !grant.keys_on;
    run("/v1/keys", { method: "POST", body: { name: f.get("name"), scopes: f.get("scopes").split(","), tenant: f.get("tenant") || undefined, expires: days ? new Date(Date.now() + days * 864e5).toISOString() : undefined } }, (k) => { isMade = true; return made(k); }).then(() => { firstKey.made &&= isMade; });
  };
  return html`<${Card} title="Make a key"><form class="row" onSubmit=${submit}>
      <${Field} label="Name" name="name" placeholder="gateway 7" />
      <${Select} label="May" name="scopes" of=${[["admin", "do everything"], ["read", "read"], ["write", "write"], ["read,write", "read and write"]].slice(0, grant.keys_on ? 4 : 1)} />
      ${grant.operator && grant.keys_on && html`<${Field} label="Tenant" name="tenant" placeholder=${grant.tenant} />`}
      <${Select} label="Ends" name="days" of=${[["", "never"], ["30", "in 30 days"], ["90", "in 90 days"], ["365", "in a year"]]} />
      <button class="primary" disabled=${busy}>Make the key</button>
    </form><${Failure} error=${error} />${!grant.keys_on && html`<p class="hint quiet">No key exists yet. The first key must be an admin key. From then on, every request needs a key.</p>`}<//>`;
};

export default ({ grant }) => {
  const list = useFetch("/v1/keys"), [made, show] = useState(), [gone, ask] = useState();
  const [run, error, busy] = useAction(() => { ask(); list.reload(); });
  const kept = (k) => { show(k); if (grant.keys_on) list.reload(); };
  return html`${made && html`<${Card} title=${"Key " + made.id} id="made"><p>The key is shown only once. Store it now.</p><${Copy} text=${made.key} label="the key" />
      ${grant.keys_on ? html`<button onClick=${() => show()}>It is stored</button>` : html`<button class="primary" onClick=${() => setKey(made.key)}>It is stored: continue with this key</button>`}<//>`}
    ${(grant.keys_on || !made) && html`<${NewKey} grant=${grant} made=${kept} />
    <${Load} of=${list}>${(l) => html`<${Card} title="Keys"><${Table} caption="Keys" empty="No key exists: anyone who can reach this server may do everything." rows=${l.keys} keyOf=${(k) => k.id} columns=${[
      { name: "Key", value: (k) => html`<code>${k.id}</code>${k.name && html`<br /><span class="quiet">${k.name}</span>`}` }, { name: "Tenant", value: (k) => k.tenant },
      { name: "May", value: (k) => k.scopes.join(", ") }, { name: "State", value: (k) => html`<${Badge} kind=${k.state === "active" ? "good" : ""}>${k.state}<//>` },
      { name: "Last used", value: (k) => (k.used ? html`<${Time} at=${k.used} />` : html`<span class="quiet">not seen</span>`) }, { name: "Made", value: (k) => day(k.created) }, { name: "Ends", value: (k) => (k.expires ? day(k.expires) : "never") },
      { name: "Actions", value: (k) => k.state === "active" && html`<button class="small" aria-label=${"revoke " + k.id} onClick=${() => ask(k)}>revoke</button>` }]} /><//>`}<//>`}
    ${gone && html`<${Ask} title="Revoke the key" close=${() => ask()} error=${error} busy=${busy} yes=${() => run(pathOf("keys", gone.id), { method: "DELETE" })}>
      <p>This server refuses key <code>${gone.id}</code> ${gone.name && html`(${gone.name})`} from now on, and other processes within 10 seconds. This cannot be undone.</p><//>`}`;
};
