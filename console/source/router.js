// The address is the only state of a page that outlives it: /ui/PAGE/REST?QUERY.
import { useEffect, useState } from "./lib/preact.js";

const changed = new EventTarget();

// decode decodes a part of an address. It returns a text that is not encoded unchanged.
const decode = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

// current returns the page, the rest of the path as texts, and the query of the address.
export const current = () => {
  const [page = "", ...rest] = location.pathname.replace(/^\/ui\/?/, "").split("/").filter(Boolean).map(decode);
  return { page, rest, query: Object.fromEntries(new URLSearchParams(location.search)) };
};

// href returns the address of a page. Empty values of the query are left out.
export const href = (path = "", query = {}) => {
  const q = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== "" && v != null && v !== false));
  const text = q.toString();
  return "/ui" + (path ? "/" + [path].flat().map(encodeURIComponent).join("/") : "") + (text ? "?" + text : "");
};

// go opens an address of the console. With replace, it adds no entry to the history.
export const go = (address, { replace = false } = {}) => {
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  changed.dispatchEvent(new Event("change"));
};

// setQuery changes parts of the query of this page, such as setQuery({ at: "2026-11-30" }). An empty
// value removes a part.
export const setQuery = (change, { replace = true } = {}) => {
  const { page, rest, query } = current();
  go(href([page, ...rest].filter(Boolean), { ...query, ...change }), { replace });
};

// useRoute renders a component again after each change of the address.
export const useRoute = () => {
  const [route, set] = useState(current);
  useEffect(() => {
    const update = () => set(current());
    const open = (e) => {
      const a = e.target.closest?.("a[href]");
      const plain = e.button === 0 && !e.metaKey && !e.ctrlKey && !e.shiftKey && !e.altKey;
      if (!a || !plain || a.target || a.origin !== location.origin || !/^\/ui(\/|$)/.test(a.pathname)) return;
      e.preventDefault();
      go(a.pathname + a.search);
    };
    changed.addEventListener("change", update);
    addEventListener("popstate", update);
    addEventListener("click", open);
    return () => {
      changed.removeEventListener("change", update);
      removeEventListener("popstate", update);
      removeEventListener("click", open);
    };
  }, []);
  return route;
};
