import Now from "./pages/now.js";
import Tables from "./pages/tables.js";
import Devices from "./pages/devices.js";
import Device from "./pages/device.js";
import Alerts from "./pages/alerts.js";
import Rejects from "./pages/rejects.js";
import Keys from "./pages/keys.js";
import Settings from "./pages/settings.js";

// can reports whether a grant has a scope. The scope admin includes all others.
export const can = (grant, scope) => grant.scopes.includes(scope) || grant.scopes.includes("admin");

// The pages of the console, in the order of the navigation. console/doc.go describes a line.
export const pages = [
  { path: "", name: "Now", question: "Is the server healthy, and what arrived?", hotkey: "n", allowed: (g) => can(g, "read") || can(g, "write"), component: Now },
  { path: "tables", name: "Tables", question: "Which readings are where, and until when?", hotkey: "t", allowed: (g) => g.operator, component: Tables },
  { path: "devices", name: "Devices", question: "Which devices need attention?", hotkey: "d", allowed: (g) => can(g, "read"), component: Devices },
  { path: "device", within: "devices", name: "Device", question: "What did it report, and when did that arrive?", allowed: (g) => can(g, "read"), component: Device },
  { path: "alerts", name: "Alerts", question: "What is wrong, since when, and which rules watch for it?", hotkey: "a", allowed: (g) => can(g, "read"), component: Alerts },
  { path: "rejects", name: "Rejects", question: "What was refused, why, and can it be stored after all?", hotkey: "r", allowed: (g) => can(g, "read"), component: Rejects },
  { path: "keys", name: "Keys", question: "Who may do what?", hotkey: "k", allowed: (g) => can(g, "admin"), component: Keys },
  { path: "settings", name: "Settings", question: "Which settings are in force, and where do they come from?", hotkey: "s", allowed: (g) => g.operator, component: Settings },
];
