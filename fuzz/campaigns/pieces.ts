import * as fc from "fast-check";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { doorPath } from "../../test/support/door-path.ts";
import type { Campaign } from "../campaign.ts";
import { openRig, profileNames, type Held } from "../pieces/gateway.ts";
import { doors, shapes } from "../pieces/shapes.ts";

const MB = 1_000_000;
/**
 * The milliseconds for which a request may hold the event loop at once, by the length of its
 * body. They are CPU time, because a busy machine takes longer by the clock.
 */
const lengths: ReadonlyMap<number, number> = new Map([
  [MB, 100],
  [30 * MB, 250],
]);
/** A collection of garbage may fall into any one try. */
const TRIES = 3;

const paths = new Map(builtinDialects.doors.map(({ name, door }) => [name, doorPath(door)]));
for (const name of paths.keys())
  if (!doors.some((door) => door === name))
    throw new Error(`add the form of a ${name} request to fuzz/pieces/shapes.ts`);

/**
 * Bodies of very many pieces, each sent to a new gateway, must not hold its event loop for
 * longer than other clients may wait. At the end the longest times are printed by shape.
 */
export function pieces(): Campaign {
  const worst = new Map<string, Held & { readonly of: string }>();
  const cases = fc.record({
    shape: fc.constantFrom(...shapes),
    door: fc.constantFrom(...doors),
    profile: fc.constantFrom(...profileNames),
    length: fc.constantFrom(...lengths.keys()),
    isPlanned: fc.boolean(),
  });
  const property = fc.asyncProperty(cases, async ({ shape, door, profile, length, isPlanned }) => {
    const path = isPlanned ? "/v1/plan" : (paths.get(door) ?? "");
    const body = shape.body(door, length);
    const most = lengths.get(length) ?? 0;
    let held: Held = { wallMs: Infinity, cpuMs: Infinity };
    for (let tries = 0; tries < TRIES && held.cpuMs > most; tries++) {
      await using rig = await openRig(profile);
      const one = await rig.ask(path, body);
      if (one.status >= 500 && one.status !== 503)
        throw new Error(`${path} answered ${one.status}: ${one.answer.slice(0, 500)}`);
      if (one.cpuMs < held.cpuMs) held = one;
    }
    const name = `${length / MB} MB, ${shape.name}`;
    if (held.cpuMs > (worst.get(name)?.cpuMs ?? 0))
      worst.set(name, { ...held, of: `${door} on ${profile}${isPlanned ? ", planned" : ""}` });
    if (held.cpuMs > most)
      throw new Error(`${name}: the event loop was held for ${held.cpuMs.toFixed(0)} ms`);
  });
  return {
    properties: [{ name: "bodies of many pieces", property }],
    close() {
      const lines = [...worst].toSorted(([, one], [, other]) => other.cpuMs - one.cpuMs);
      for (const [name, { wallMs, cpuMs, of }] of lines.slice(0, 20))
        process.stdout.write(
          `${cpuMs.toFixed(0).padStart(5)} ms, ${wallMs.toFixed(0)} on the clock: ${name} (${of})\n`,
        );
      return Promise.resolve();
    },
  };
}
