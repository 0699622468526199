// The first steps on an empty server: lines to paste, and a form that stores one reading.
import { html, useState } from "../lib/preact.js";
import { pathOf, request } from "../api.js";
import { jsonOf, second } from "../format.js";
import { can } from "../pages.js";
import { Badge, Card, Copy, Failure, Tabs } from "../parts.js";
import { setQuery } from "../router.js";

const snippets = (origin, keys) => {
  const header = keys ? " \\\n  -H \"Authorization: Bearer $VARVE_KEY\"" : "";
  const now = new Date().toISOString().slice(0, 19) + "Z";
  const reading = `{"device":"sensor_01","time":"${now}","fields":{"temperature":22.4}}`;
  return [
    { id: "curl", name: "curl", text: `curl ${origin}/v1/streams/weather/readings${header} \\\n  -H 'Content-Type: application/json' \\\n  -d '${reading}'` },
    { id: "varve", name: "varve", text: `export VARVE_SERVER=${origin}\n${keys ? "export VARVE_KEY_FILE=~/.varve-key\n" : ""}echo '${reading}' |\n  varve ingest --stream weather --format ndjson -` },
    { id: "telegraf", name: "Telegraf", text: `[[outputs.influxdb_v2]]\n  urls = ["${origin}"]\n  organization = ""\n  bucket = "telegraf"\n  token = "${keys ? "${VARVE_KEY}" : ""}"\n\n[[inputs.cpu]]` },
    { id: "mosquitto", name: "mosquitto_pub", text: `mosquitto_pub -h ${new URL(origin).hostname} -p 1883${keys ? " -u varve -P \"$VARVE_KEY\"" : ""} -q 1 \\\n  -t sensors/sensor_01/weather -m '{"temperature":22.4}'`,
      note: html`Varve listens for MQTT with the settings <code>mqtt.listen: ":1883"</code> and <code>topics.sensors.pattern: sensors/{device}/{stream}</code>.` },
  ];
};

// Snippets are lines to paste, with the address of this server.
export const Snippets = ({ grant, route }) => {
  const items = snippets(location.origin, grant.keys_on).map((s) => ({
    ...s,
    content: html`<${Copy} text=${s.text} label=${"Send a reading with " + s.name} />
      ${s.note && html`<p class="quiet hint">${s.note}</p>`}
      ${grant.keys_on && html`<p class="quiet hint">This needs a key with the scope write: <code>varve keys create --scope write</code></p>`}`,
  }));
  return html`<${Tabs} label="Client" items=${items} chosen=${route.query.with} choose=${(id) => setQuery({ with: id })} />`;
};

// OneReading stores one reading, and shows it as the server returns it.
const OneReading = ({ grant, stored }) => {
  const [state, set] = useState({});
  const submit = async (e) => {
    e.preventDefault();
    const f = Object.fromEntries([...new FormData(e.target)].map(([k, v]) => [k, v.trim()]));
    const time = new Date().toISOString();
    set({ busy: true });
    try {
      const answer = await request(pathOf("streams", f.stream, "readings"), { method: "POST", accept: [422],
        body: `{"device":${JSON.stringify(f.device)},"time":"${time}","fields":{${JSON.stringify(f.field)}:${jsonOf(f.value)}}}` });
      if (answer.rejects.length) throw new Error("Rejected: " + answer.rejects[0].message);
      const reading = can(grant, "read") && await request(pathOf("streams", f.stream, "devices", f.device, "readings"), { query: { from: time, limit: 1 } });
      set({ shown: reading ? reading.readings[0] : { device: f.device, time }, verdict: answer.duplicates ? "duplicate" : "stored", of: f });
    } catch (error) {
      set({ error });
    }
  };
  const field = (name, label, value) => html`<div class="field"><label for=${"one-" + name}>${label}</label><input id=${"one-" + name} name=${name} defaultValue=${value} required autocomplete="off" size="12" /></div>`;
  return html`<form onSubmit=${submit}>
      <div class="row">${field("device", "Device", "sensor_01")}${field("stream", "Stream", "weather")}${field("field", "Field", "temperature")}${field("value", "Value", "22.4")}
      <button class="primary" disabled=${state.busy}>Store one reading</button></div></form>
    <div aria-live="polite" class="below"><${Failure} error=${state.error} />
    ${state.shown && html`<p class="row"><${Badge} kind="good">${state.verdict}<//><span>${state.of.device} in ${state.of.stream}, at ${second(state.shown.time)} UTC${state.shown.fields && html`: <code>${JSON.stringify(state.shown.fields)}</code>`}</span>
      <button onClick=${stored}>Show the server</button></p>`}</div>`;
};

// Start fills the page of a server without readings.
export const Start = ({ grant, route, stored }) => html`<div class="cards">
  <${Card} wide title="No reading has arrived yet">
    <p class="lead">Varve stores readings of devices by event time and arrival month. Late readings are welcome. Send the first reading:</p>
    <${Snippets} grant=${grant} route=${route} />
  <//>
  ${can(grant, "write") && html`<${Card} wide title="Or store a reading here"><${OneReading} grant=${grant} stored=${stored} /><//>`}
</div>`;
