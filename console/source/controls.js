// Controls of lists, whose values are in the address, and requests that change something.
import { html, useRef, useState } from "./lib/preact.js";
import { request } from "./api.js";
import { Dialog, Failure } from "./parts.js";
import { setQuery } from "./router.js";

// Search is a field that changes the address while the user types. It shows the typed text as long as the
// address follows it, and otherwise the text of the address.
export const Search = ({ label, name, query, hint }) => {
  const timer = useRef(), [typed, set] = useState(""), at = query[name] || "";
  const type = (e) => {
    const text = e.target.value;
    set(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => { timer.current = 0; setQuery({ [name]: text.trim(), cursor: "" }); }, 250);
  };
  return html`<div class="field"><label for=${name}>${label}</label><input id=${name} type="search" placeholder=${hint} value=${timer.current || typed.trim() === at ? typed : at} onInput=${type} autocomplete="off" /></div>`;
};

// Choice is a list of values, or of pairs of a value and its text. A list of values also gets the
// choice "all", with an empty value.
export const Choice = ({ label, name, query, of }) => html`<div class="field"><label for=${name}>${label}</label>
  <select id=${name} value=${query[name] || ""} onChange=${(e) => setQuery({ [name]: e.target.value, cursor: "" })}>
    ${!Array.isArray(of[0]) && html`<option value="">all</option>`}${of.map((o) => html`<option key=${o} value=${[o].flat()[0]}>${[o].flat().at(-1)}</option>`)}</select></div>`;

// Pages leads to the next page of a list, and back to the first.
export const Pages = ({ query, next }) => (query.cursor || next) && html`<p class="row pager">
  ${query.cursor && html`<button class="small" onClick=${() => setQuery({ cursor: "" })}>First page</button>`}
  ${next && html`<button class="small" onClick=${() => setQuery({ cursor: next }, { replace: false })}>Next page</button>`}</p>`;

// Field is a labeled control of a form.
export const Field = ({ label, name, children, ...rest }) => html`<div class="field"><label for=${name}>${label}</label>${children || html`<input id=${name} name=${name} autocomplete="off" ...${rest} />`}</div>`;

// Select is a labeled list of a form.
export const Select = ({ label, name, of, ...rest }) => html`<${Field} label=${label} name=${name}><select id=${name} name=${name} ...${rest}>${of.map((o) => html`<option key=${o} value=${[o].flat()[0]}>${[o].flat().at(-1)}</option>`)}</select><//>`;

// useAction returns [run, error, busy]. The function run sends a request, and calls done with the answer.
export const useAction = (done) => {
  const [state, set] = useState({});
  const run = async (path, options, then = done) => {
    set({ busy: true });
    try {
      const answer = await request(path, options);
      set({});
      await then?.(answer);
    } catch (error) {
      set({ error });
    }
  };
  return [run, state.error, state.busy];
};

// Ask is a second question before an action that cannot be undone.
export const Ask = ({ title, children, yes, close, error, busy }) => html`<${Dialog} title=${title} close=${close}>
  ${children}<${Failure} error=${error} />
  <div class="row"><button class="danger" disabled=${busy} onClick=${yes}>${title}</button><form method="dialog"><button>Cancel</button></form></div><//>`;
