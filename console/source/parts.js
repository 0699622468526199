// Components that pages share.
import { html, useEffect, useRef, useState } from "./lib/preact.js";
import { ago, second } from "./format.js";

// Card is a titled part of a page. aside stands at the right of the title.
export const Card = ({ title, aside, wide, children, ...rest }) => html`
  <section class=${"card" + (wide ? " wide" : "")} ...${rest}>
    ${(title || aside) && html`<header><h2>${title}</h2>${aside && html`<div class="aside">${aside}</div>`}</header>`}
    ${children}
  </section>`;

// Badge is a word with a color. kind: good, warn, bad, or nothing.
export const Badge = ({ kind = "", children }) => html`<span class=${"badge " + kind}>${children}</span>`;

// Failure shows an error, and a button that tries again.
export const Failure = ({ error, retry }) =>
  error ? html`<div class="failure" role="alert"><p>${error.message}</p>${retry && html`<button onClick=${retry}>Try again</button>`}</div>` : null;

// Load shows the state of useFetch until data arrives, then its children: a function of the data.
export const Load = ({ of, children }) => {
  if (of.data === undefined) return of.error ? html`<${Failure} error=${of.error} retry=${of.reload} />` : html`<p class="quiet" role="status">Loading …</p>`;
  return html`${of.error && html`<${Failure} error=${of.error} retry=${of.reload} />`}${children(of.data)}`;
};

// Empty fills a part without data, with the next step.
export const Empty = ({ title, children }) => html`<div class="empty"><strong>${title}</strong>${children && html`<p>${children}</p>`}</div>`;

// Facts is a list of names and values: [["Disk", "3 GB"], …]. Entries without a value are left out.
export const Facts = ({ of }) => html`<dl class="facts">${of.filter((f) => f && f[1] != null).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

// Time shows a time as its distance from now, with the whole time as a tooltip.
export const Time = ({ at }) => (at ? html`<time datetime=${at} title=${second(at) + " UTC"}>${ago(at)}</time>` : "never");

// Table shows rows. columns: [{ name, value: (row) => content, number, head }]. A column with number is
// aligned to the right. head replaces the name in the header. The caption names the table for screen
// readers.
export const Table = ({ caption, columns, rows, keyOf, empty = "None." }) =>
  rows.length === 0
    ? html`<p class="quiet">${empty}</p>`
    : html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
        <table class="stacks">
          <caption class="unseen">${caption}</caption>
          <thead><tr>${columns.map((c) => html`<th scope="col" class=${c.number ? "number" : ""}>${c.head || c.name}</th>`)}</tr></thead>
          <tbody>${rows.map((row, i) => html`<tr key=${keyOf ? keyOf(row) : i}>${columns.map((c) => html`<td class=${c.number ? "number" : ""} data-name=${c.name}>${c.value(row)}</td>`)}</tr>`)}</tbody>
        </table>
      </div>`;

// Dialog is a modal dialog, which Escape closes. The browser keeps the focus inside.
export const Dialog = ({ title, close, children }) => {
  const ref = useRef();
  useEffect(() => {
    const from = document.activeElement;
    ref.current.showModal();
    return () => from?.focus?.();
  }, []);
  return html`<dialog ref=${ref} aria-labelledby="dialog-title" onClose=${close} onClick=${(e) => e.target === ref.current && ref.current.close()}>
    <div class="inside"><h2 id="dialog-title">${title}</h2>${children}</div>
  </dialog>`;
};

// Copy is a text to paste, with a button that copies it.
export const Copy = ({ text, label }) => {
  const [done, set] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    set(true);
    setTimeout(() => set(false), 1500);
  };
  return html`<div class="copy"><pre tabindex="0" aria-label=${label}><code>${text}</code></pre>
    ${navigator.clipboard && html`<button class="small" onClick=${copy} aria-label=${"Copy: " + label}>${done ? "Copied" : "Copy"}</button>`}</div>`;
};

// Tabs shows one of several parts: items: [{ id, name, content }].
export const Tabs = ({ label, items, chosen, choose }) => {
  const now = items.find((i) => i.id === chosen) || items[0];
  const move = (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    e.preventDefault();
    const next = items[(items.indexOf(now) + step + items.length) % items.length];
    choose(next.id);
    e.currentTarget.querySelector(`[data-tab="${next.id}"]`).focus();
  };
  return html`<div class="tabs">
    <div role="tablist" aria-label=${label} onKeyDown=${move}>${items.map((i) => html`<button role="tab" data-tab=${i.id} id=${"tab-" + i.id}
      aria-selected=${i === now} aria-controls="tab-panel" tabindex=${i === now ? 0 : -1} onClick=${() => choose(i.id)}>${i.name}</button>`)}</div>
    <div role="tabpanel" id="tab-panel" aria-labelledby=${"tab-" + now.id}>${now.content}</div>
  </div>`;
};
