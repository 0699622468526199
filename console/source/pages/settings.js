// Settings: which settings are in force, and where do they come from?
import { html } from "../lib/preact.js";
import { useFetch } from "../api.js";
import { plural } from "../format.js";
import { Card, Load, Table } from "../parts.js";
import { Choice, Search } from "../controls.js";

export default ({ route: { query } }) => {
  const list = useFetch("/v1/settings"), text = (query.search || "").toLowerCase();
  const shown = (l) => l.settings.filter((s) => (!query.only || s.origin !== "default") && (s.key + " " + s.doc + " " + s.value).toLowerCase().includes(text));
  return html`<div class="row controls"><${Search} label="Search" name="search" query=${query} /><${Choice} label="Show" name="only" query=${query} of=${[["", "all"], ["set", "only changed settings"]]} /></div>
    <${Load} of=${list}>${(l) => html`<${Card} title=${plural(shown(l).length, "setting")}><${Table} caption="Settings" empty="No setting matches." rows=${shown(l)} keyOf=${(s) => s.key} columns=${[
      { name: "Setting", value: (s) => html`<code>${s.key}</code><br /><span class="quiet">${s.doc}</span>` },
      { name: "Value", value: (s) => html`<code class=${s.origin === "default" ? "" : "set"}>${s.value || "–"}</code>` },
      { name: "Default", value: (s) => html`<code class="quiet">${s.default || "–"}</code>` },
      { name: "Origin", value: (s) => s.origin }]} /><//>`}<//>`;
};
