import { openRig, profileNames } from "./pieces/gateway.ts";
import { doors, shapes } from "./pieces/shapes.ts";
import { builtinDialects } from "../src/dialects/registry.ts";
const routes = builtinDialects.doors.map(({ name, door }) => ({ name, path: door.routes[0] ?? "" }));
const want = process.argv[2] ? new RegExp(process.argv[2]) : /./;
const onlyProfile = process.argv[3] ? new RegExp(process.argv[3]) : /./;
const rows: [number, string][] = [];
for (const shape of shapes) if (want.test(shape.name)) for (const door of doors) for (const profile of profileNames) if (onlyProfile.test(profile)) for (const planned of [false, true]) {
  const path = planned ? "/v1/plan" : (routes.find(({ name }) => name === door)?.path ?? "");
  const body = shape.body(door, 1_000_000);
  let best = Infinity; let status = 0;
  for (let t = 0; t < 1; t++) try { await using rig = await openRig(profile); const one = await rig.ask(path, body); status = one.status; best = Math.min(best, one.cpuMs); } catch (e) { console.log(String(e).slice(0,80)); }
  rows.push([best, `${shape.name} ${door} ${profile} ${planned} ${status}`]);
}
rows.sort((a, b) => b[0] - a[0]);
for (const [ms, name] of rows.slice(0, 25)) console.log(ms.toFixed(0), name);
