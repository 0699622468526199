// Texts of values. Times are shown in UTC, because tables and months are in UTC.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (n) => (n == null ? "–" : whole.format(n));
export const compact = (n) => (n == null ? "–" : short.format(n));
export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

export const bytes = (n) => {
  if (n == null) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
  return `${i && n < 10 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
};

const two = (n) => String(n).padStart(2, "0");
export const isTime = (t) => t != null && !Number.isNaN(new Date(t).getTime());
export const day = (t) => (isTime(t) ? new Date(t).toISOString().slice(0, 10) : "–");
export const minute = (t) => (isTime(t) ? new Date(t).toISOString().slice(0, 16).replace("T", " ") : "–");
export const second = (t) => (isTime(t) ? new Date(t).toISOString().slice(0, 19).replace("T", " ") : "–");
export const clock = (t) => (isTime(t) ? two(new Date(t).getUTCHours()) + ":" + two(new Date(t).getUTCMinutes()) : "–");
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
export const month = (t) => `${months[new Date(t).getUTCMonth()]} ${new Date(t).getUTCFullYear()}`;

// span writes milliseconds in their largest unit, such as 3 h or 12 days.
export const span = (ms) => {
  const units = [["year", 365 * 864e5], ["day", 864e5], ["h", 36e5], ["min", 6e4], ["s", 1000], ["ms", 1]];
  const [unit, size] = units.find(([, size]) => Math.abs(ms) >= size) || ["ms", 1];
  const n = Math.round(ms / size);
  return `${n} ${/day|year/.test(unit) && Math.abs(n) !== 1 ? unit + "s" : unit}`;
};

// ago writes the distance of a time from now.
export const ago = (t, now = Date.now()) => {
  if (!isTime(t)) return "never";
  const d = now - new Date(t);
  if (Math.abs(d) < 5000) return "now";
  return d > 0 ? span(d) + " ago" : "in " + span(-d);
};

// jsonOf returns a typed value as JSON. A number has the digits that were typed.
export const jsonOf = (text) => (/^(true|false|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)$/.test(text) ? text : JSON.stringify(text));
