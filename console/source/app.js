// Starts the console: navigation, shortcuts, theme, and the prompt for a key.
import { Component, html, render, useEffect, useLayoutEffect, useRef, useState } from "./lib/preact.js";
import { events, forgetKey, keyInUse, request, setKey } from "./api.js";
import { pages } from "./pages.js";
import { Dialog, Empty, Failure } from "./parts.js";
import { go, href, useRoute } from "./router.js";

const themes = ["", "light", "dark"];
const themeNames = { "": "system", light: "light", dark: "dark" };

// setTheme chooses a theme. Without a name, the theme of the system applies.
const setTheme = (name) => {
  if (name) localStorage.setItem("varve.theme", name);
  else localStorage.removeItem("varve.theme");
  dispatchEvent(new Event("varve-choice"));
};

// Guard shows the error of a page that failed, in place of an empty screen.
class Guard extends Component {
  componentDidCatch(error) {
    console.error(error);
    this.setState({ error });
  }
  render({ children }, { error }) {
    return error ? html`<${Failure} error=${error} retry=${() => location.reload()} />` : children;
  }
}

const KeyPrompt = ({ wrong, of }) => {
  const field = useRef();
  useLayoutEffect(() => field.current.select(), [of]); // in the same step as the message, so that no typed text is lost
  const submit = (e) => {
    e.preventDefault();
    setKey(new FormData(e.target).get("key").trim());
  };
  return html`<main id="main" class="prompt">
    <form class="card" onSubmit=${submit}>
      <h1>Varve</h1>
      <p>This server requires an API key. The key stays in this tab, and is forgotten when the tab is closed.</p>
      <label for="key">API key</label>
      <input id="key" ref=${field} name="key" type="password" autocomplete="off" spellcheck="false" placeholder="vk_…" required aria-invalid=${wrong} aria-describedby="wrong" />
      <p id="wrong" class="bad-text" role="alert">${wrong && "This key is not valid: it may be mistyped, expired or revoked."}</p>
      <button class="primary">Open the console</button>
      <p class="quiet">No key yet? On the server: <code>varve keys create --scope read</code></p>
    </form>
  </main>`;
};

const Help = ({ shown, close }) => html`<${Dialog} title="Keyboard" close=${close}>
  <dl class="keys">
    ${shown.filter((p) => p.hotkey).map((p) => html`<div><dt><kbd>g</kbd> <kbd>${p.hotkey}</kbd></dt><dd>${p.name}</dd></div>`)}
    <div><dt><kbd>/</kbd></dt><dd>Search, on pages with a search field</dd></div>
    <div><dt><kbd>d</kbd></dt><dd>Change the theme: dark, light or the system's</dd></div>
    <div><dt><kbd>?</kbd></dt><dd>This help</dd></div>
  </dl>
  <form method="dialog"><button>Close</button></form>
<//>`;

// useShortcuts handles keys outside of fields: /, d, ?, and g followed by the hotkey of a page within
// 1.5 seconds.
const useShortcuts = (shown, actions) => {
  const begun = useRef(0);
  useEffect(() => {
    const press = (e) => {
      if (e.defaultPrevented || e.metaKey || e.ctrlKey || e.altKey || e.target.closest?.("input, textarea, select, dialog")) return;
      const follows = Date.now() - begun.current < 1500;
      begun.current = 0;
      const page = follows && shown.find((p) => p.hotkey === e.key);
      if (page) go(href(page.path));
      else if (e.key === "g") begun.current = Date.now();
      else if (e.key === "d") actions.theme();
      else if (e.key === "?") actions.help();
      else if (e.key === "/") {
        const field = document.querySelector("input[type=search]");
        if (field) {
          e.preventDefault();
          field.focus();
        }
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [shown, actions]);
};

const App = () => {
  const route = useRoute();
  const [grant, setGrant] = useState();
  const [error, setError] = useState();
  const [refused, setRefused] = useState();
  const [help, setHelp] = useState(false);
  const [theme, change] = useState(localStorage.getItem("varve.theme") || "");
  const load = () => {
    setError();
    return request("/v1/grant").then((g) => { setGrant(g); setRefused(); }, (e) => e.status === 401 || setError(e));
  };
  useEffect(() => {
    const refuse = () => { setGrant(); setRefused({ key: keyInUse() }); };
    const rekey = () => { setGrant(); load(); };
    events.addEventListener("refused", refuse);
    events.addEventListener("key", rekey);
    load();
    return () => {
      events.removeEventListener("refused", refuse);
      events.removeEventListener("key", rekey);
    };
  }, []);
  const shown = grant ? pages.filter((p) => p.allowed(grant)) : [];
  const page = shown.find((p) => p.path === route.page);
  const hidden = !page && pages.find((p) => p.path === route.page);
  const nextTheme = () => {
    const next = themes[(themes.indexOf(localStorage.getItem("varve.theme") || "") + 1) % themes.length]; // the state theme would be old if d is pressed twice before a render
    setTheme(next);
    change(next);
  };
  useShortcuts(shown, { theme: nextTheme, help: () => setHelp(true) });
  const first = useRef(true);
  useEffect(() => {
    document.title = (page ? page.name + " · " : "") + "Varve";
    if (!grant) return;
    if (!first.current) document.getElementById("title")?.focus();
    first.current = false;
  }, [page, !grant]);
  if (!grant) {
    if (refused) return html`<${KeyPrompt} wrong=${!!refused.key} of=${refused} />`;
    return html`<main id="main" class="prompt">${error ? html`<div class="card"><h1>Varve</h1><${Failure} error=${error} retry=${load} /></div>` : html`<p class="quiet" role="status">Loading …</p>`}</main>`;
  }
  return html`
    <a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById("main").focus(); }}>Skip to the content</a>
    <header class="bar">
      <a class="brand" href="/ui" aria-label="Varve, Now"><svg viewBox="0 0 20 20" aria-hidden="true"><path class="a" d="M2 3h16v3H2z" /><path class="b" d="M2 8h16v2H2z" /><path class="c" d="M2 12h16v3H2z" /><path class="d" d="M2 17h16v1.4H2z" /></svg>Varve</a>
      <nav aria-label="Pages">${shown.filter((p) => !p.within).map((p) => html`<a key=${p.path} href=${href(p.path)} aria-current=${p === page ? "page" : p.path === page?.within ? "true" : null}>${p.name}</a>`)}</nav>
      <div class="tools">
        ${grant.keys_on && html`<span class="tenant" title=${"scopes: " + grant.scopes.join(", ")}>${grant.tenant}</span><button class="small" onClick=${forgetKey}>Forget key</button>`}
        <button class="small" onClick=${nextTheme} aria-label=${"Theme: " + themeNames[theme] + ". Change it."}><span aria-hidden="true">${{ "": "◐", light: "○", dark: "●" }[theme]}</span></button>
        <button class="small" onClick=${() => setHelp(true)} aria-label="Keyboard shortcuts">?</button>
      </div>
    </header>
    <main id="main" tabindex="-1">
      ${page && html`<div class="title"><h1 id="title" tabindex="-1">${(page.within && route.rest[0]) || page.name}</h1><p>${page.question}</p></div><${Guard} key=${page.path}><${page.component} grant=${grant} route=${route} /><//>`}
      ${!page && html`<h1 id="title" tabindex="-1">${hidden ? hidden.name : "Page not found"}</h1>
        <${Empty} title=${hidden ? "Your key does not give access to this page." : "This address has no page."}>${hidden ? "The page needs another scope, or a key of another tenant." : html`<a href="/ui">Open Now</a>`}<//>`}
    </main>
    <footer><span>Varve ${grant.version}</span><span>Times are UTC</span><a href="/docs">API</a></footer>
    ${help && html`<${Help} shown=${shown} close=${() => setHelp(false)} />`}`;
};

const root = document.getElementById("app");
root.replaceChildren(); // render keeps elements that it does not know
render(html`<${App} />`, root);
