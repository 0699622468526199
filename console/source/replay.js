// Replays a month as it arrived: how many readings of each table were known by the end of a day.
// The address holds its state: ?replay=MONTH&day=DAY&speed=DAYS&play=1
import { html, useEffect, useMemo, useRef, useState } from "./lib/preact.js";
import { pathOf, request } from "./api.js";
import { count, day, plural } from "./format.js";
import { monthName } from "./grid.js";
import { Failure } from "./parts.js";
import { setQuery } from "./router.js";

const DAY = 864e5;
const speeds = ["1", "2", "4", "8"]; // days a second

// Months chooses the month of a replay. Only months with readings can be chosen.
export const Months = ({ tables, query }) => {
  const months = [...new Set(tables.filter((t) => t.readings > 0).map((t) => t.write_month))].sort().reverse();
  return html`<label for="replay">Replay as it arrived </label>
    <select id="replay" value=${query.replay || ""} onChange=${(e) => setQuery({ replay: e.target.value, day: "", play: e.target.value && "1", at: "" })}>
      <option value="">–</option>${months.map((m) => html`<option key=${m} value=${m}>${monthName(m)}</option>`)}</select>`;
};

// daysOf returns the days of a month up to today, and at least the first day.
const daysOf = (month) => {
  const days = [];
  for (let t = Date.parse(month + "-01"); day(t).startsWith(month) && (t <= Date.now() || !days.length); t += DAY) days.push(day(t));
  return days;
};

// useCounts counts the readings of tables by the day of their arrival, one table after another. The
// server reads each table for its count.
const useCounts = (names) => {
  const [state, set] = useState({}), [again, retry] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    const load = async () => {
      for (const counts = {}, left = [...names]; ; ) {
        set({ counts: { ...counts }, done: !left.length });
        if (!left.length) return;
        const answer = await request(pathOf("tables", left[0], "arrivals"), { signal: control.signal });
        counts[left.shift()] = answer;
      }
    };
    load().catch((error) => control.signal.aborted || set({ error }));
    return () => control.abort();
  }, [names.join(), again]);
  return { counts: {}, ...state, retry: () => retry(again + 1) };
};

// knownBy returns the number of readings that arrived by the end of a day.
const knownBy = (answer, date) => (answer ? answer.days.reduce((n, d) => n + (d.day <= date ? d.readings : 0), 0) : 0);

// Replay is a player. Its child is a function of the tables as they were at the end of a day, and of
// the time of that end.
export const Replay = ({ list, query, children }) => {
  const month = query.replay, days = useMemo(() => daysOf(month), [month]), last = days.length - 1;
  const names = list.tables.filter((t) => t.write_month === month && t.readings > 0).map((t) => t.name);
  const { counts, done, error, retry } = useCounts(names);
  const chosen = days.indexOf(query.day), [at, set] = useState(Math.max(chosen, 0)), timer = useRef();
  useEffect(() => set(Math.max(chosen, 0)), [chosen, month]);
  const playing = !!query.play && !!done;
  // The address changes when the player rests, because browsers limit the number of changes.
  const move = (n) => {
    set(n);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuery({ day: days[n], play: "" }), 150);
  };
  const play = () => setQuery(query.play ? { play: "", day: days[at] } : { play: "1", day: at < last ? days[at] : days[0] });
  useEffect(() => {
    if (!playing) return;
    if (at >= last) return setQuery({ play: "", day: days[last] });
    const next = setTimeout(() => set(at + 1), 1000 / (query.speed || 2));
    return () => clearTimeout(next);
  }, [playing, at, query.speed]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const date = days[at] || days[last], until = at < last ? date : "9"; // "9" follows every date: on the last day, all readings count
  const known = useMemo(() => ({ tables: list.tables.map((t) => {
    const n = t.write_month < month ? t.readings : t.write_month > month ? 0 : knownBy(counts[t.name], until);
    return { ...t, state: "", readings: n, full: counts[t.name]?.readings ?? t.readings, bytes: n < t.readings ? null : t.bytes };
  }) }), [list, counts, until, month]);
  const of = names.reduce((n, name) => n + (counts[name]?.readings || 0), 0);
  const press = (e) => { if (e.key === " " && e.target.type === "range") { e.preventDefault(); play(); } };
  return html`<div class="slider" id="player" role="group" aria-label="Replay" onKeyDown=${press}>
      <button class="small" id="play" disabled=${!done} onClick=${play}>${playing ? "Pause" : "Play"}</button>
      <button class="small" aria-label="Day before" disabled=${at <= 0} onClick=${() => move(at - 1)}>◀</button>
      <input type="range" aria-label="Day of arrival" min="0" max=${last} value=${at} aria-valuetext=${date} onInput=${(e) => move(+e.target.value)} />
      <button class="small" aria-label="Day after" disabled=${at >= last} onClick=${() => move(at + 1)}>▶</button>
      <label for="speed">Days a second</label><select id="speed" value=${query.speed || "2"} onChange=${(e) => setQuery({ speed: e.target.value })}>${speeds.map((s) => html`<option key=${s} value=${s}>${s}</option>`)}</select>
    </div>
    <${Failure} error=${error} retry=${retry} />
    <p class="quiet lead" id="known" role=${done ? null : "status"} data-day=${done && date} data-of=${of}>${done
      ? `By the end of ${date}, ${count(names.reduce((n, name) => n + knownBy(counts[name], until), 0))} of ${plural(of, "reading")} of ${monthName(month)} had arrived.`
      : `Counting: ${Object.keys(counts).length} of ${plural(names.length, "table")}. Each is read once.`}</p>
    ${children(known, Date.parse(date) + DAY)}`;
};
