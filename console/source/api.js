// Requests to the API. The key lives in the session storage of this tab, and travels in a header.
import { useCallback, useEffect, useRef, useState } from "./lib/preact.js";

const place = "varve.key";
export const keyInUse = () => sessionStorage.getItem(place) || "";
export const forgetKey = () => setKey("");
// firstKey.made is true from the request that makes the first key until this tab uses the key. Meanwhile, refused
// requests do not open the prompt for a key: the prompt would replace the new key, which is shown only once.
export const firstKey = { made: false };
export const setKey = (key) => {
  firstKey.made = false;
  if (key) sessionStorage.setItem(place, key);
  else sessionStorage.removeItem(place);
  events.dispatchEvent(new Event("key"));
};

// events reports "key" after a change of the key, and "refused" after an answer 401.
export const events = new EventTarget();

// Problem is a failed request. Its message is the detail of the server's problem.
export class Problem extends Error {
  constructor(message, status, body) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

// request sends a request and returns the answer, parsed if it is JSON. Options:
//   method, query (an object, with a list for a repeated parameter), headers, signal,
//   body: an object, which is sent as JSON, or a text; type: the type of the text, JSON if missing,
//   accept: statuses of errors that are returned as answers; raw: whether to return the Response.
export const request = async (path, { method = "GET", body, type, query, signal, accept = [], raw = false, headers = {} } = {}) => {
  const q = new URLSearchParams(Object.entries(query || {}).flatMap(([k, v]) => [v].flat().map((one) => [k, one])).filter(([, v]) => v !== "" && v != null)).toString();
  const key = keyInUse();
  headers = { Accept: "application/json", ...headers };
  if (key) headers.Authorization = "Bearer " + key;
  if (body !== undefined) {
    headers["Content-Type"] = type || "application/json";
    if (typeof body !== "string") body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path + (q ? (path.includes("?") ? "&" : "?") + q : ""), { method, headers, body, signal, cache: "no-store", credentials: "omit" });
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new Problem("The server does not answer: it may be stopped, or the network is down", 0);
  }
  if (answer.ok || accept.includes(answer.status)) {
    if (raw) return answer;
    const text = await answer.text();
    return /json/.test(answer.headers.get("Content-Type") || "") ? JSON.parse(text) : text;
  }
  const text = await answer.text();
  let detail = text.trim() || `The server answered ${answer.status}`, parsed;
  try {
    parsed = JSON.parse(text);
    detail = parsed.detail || parsed.title || detail;
  } catch { /* not a problem in JSON: the text itself is shown */ }
  if (answer.status === 401 && key === keyInUse() && !firstKey.made) events.dispatchEvent(new Event("refused"));
  throw new Problem(detail, answer.status, parsed);
};

// useFetch loads a path and returns { data, error, loading, reload, path, stale }. The path returned is
// the path of the last answer. While a new path is loaded, data is of the old path, and stale is true.
// If path is empty, nothing is loaded. The request is aborted when the page is left, or when the path
// changes. The option every is the time in milliseconds from one load to the next; 0 means only one
// load. A hidden tab does not load again, and a load under way is not interrupted. The option get
// replaces request.
export const useFetch = (path, { every = 0, get = request, ...options } = {}) => {
  const [state, set] = useState({ loading: !!path });
  const loaded = useRef();
  const abort = useRef();
  const reload = useCallback(async () => {
    abort.current?.abort();
    if (!path) return set({ loading: false });
    const control = (abort.current = new AbortController());
    set((s) => (loaded.current === path ? { ...s, loading: true } : { loading: true, data: s.data, stale: true }));
    try {
      const data = await get(path, { ...options, signal: control.signal });
      if (control.signal.aborted) return;
      loaded.current = path;
      set({ data, loading: false, path });
    } catch (error) {
      if (error.name !== "AbortError" && !control.signal.aborted) set((s) => ({ data: s.stale ? undefined : s.data, error, loading: false, path }));
    } finally {
      if (abort.current === control) abort.current = null;
    }
  }, [path]);
  useEffect(() => {
    reload();
    const timer = every && setInterval(() => document.visibilityState === "visible" && !abort.current && reload(), every);
    return () => {
      clearInterval(timer);
      abort.current?.abort();
    };
  }, [reload, every]);
  return { ...state, reload };
};

// pathOf returns a path of the API. It escapes each part: pathOf("devices", name) is /v1/devices/NAME.
export const pathOf = (...parts) => "/v1/" + parts.map(encodeURIComponent).join("/");

// useNames returns the known names of devices, by the ids of the devices. It requests the missing names.
const names = {};
export const useNames = (ids = []) => {
  const [, update] = useState(0);
  const text = [...new Set(ids)].join("\n");
  useEffect(() => {
    const control = new AbortController();
    for (const id of text.split("\n").filter((id) => id && !(id in names))) {
      request(pathOf("devices", id), { signal: control.signal }).then(
        (d) => { names[id] = d.name; update((n) => n + 1); },
        (e) => { if (e.status === 404) names[id] = ""; }, // a device that never registered has no name
      );
    }
    return () => control.abort();
  }, [text]);
  return names;
};
events.addEventListener("key", () => { for (const id of Object.keys(names)) delete names[id]; });
