/** Functions by which a caller reads, opens and closes sections between two runs. */

import { nearest } from "../diagnostics/nearest.ts";
import { Fault } from "../turn/fault.ts";
import type { Fields } from "../turn/turn.ts";
import { checkParams, type Agent } from "./agent.ts";
import { LOADERS } from "./loader.ts";
import { readSection, type ReadSectionResult } from "./read.ts";
import { leadOf } from "./resolve.ts";
import type { Session, SessionView, Visibility, VisibilitySet } from "./session.ts";
import { stateOf } from "./visibility.ts";

type AnyAgent = Pick<Agent<never, unknown>, "name" | "catalog" | "params">;

/** Result of `readSection`; `message` is its first line, or the error. */
export type ReadSectionOutcome =
  | { readonly success: true; readonly message: string; readonly value: ReadSectionResult }
  | { readonly success: false; readonly message: string; readonly value: undefined };

/** Reads a section as `read_section` does and opens it in the session, so that the next run shows it whole. */
export async function readAgentSection(
  agent: AnyAgent,
  given: Fields,
  { key, session }: { readonly key: string; readonly session: Session },
): Promise<ReadSectionOutcome> {
  const params = await checkParams(agent, given);
  const state = stateOf({ params, session }, session.overrides);
  const reading = readSection(agent.catalog, key, state, LOADERS.read);
  if (reading.type === "unknown")
    return { success: false, message: reading.message, value: undefined };
  if (reading.type === "opened")
    session.dispatch(...reading.opens.map((path) => ({ path, visibility: "full" }) as const));
  return { success: true, message: leadOf(reading), value: reading.result };
}

/** A `SetVisibilityOverride` for `session.dispatch`. Throws a Fault where the agent has no such section. */
export function setVisibilityOverride(
  agent: AnyAgent,
  path: string,
  visibility: Visibility,
): VisibilitySet {
  checkPath(agent, path);
  return { type: "visibility-set", path, visibility, by: "caller" };
}

/** Refuses what the caller set since the last run for sections that the agent does not have. */
export function checkOverrides(agent: AnyAgent, { events }: SessionView): void {
  // A run that finds such an event begins a new conversation: those before it were checked.
  const start = events.findLastIndex(({ type }) => type === "thread-started");
  for (const event of events.slice(start + 1))
    if (event.type === "visibility-set" && event.by === "caller") checkPath(agent, event.path);
}

function checkPath({ catalog, name }: AnyAgent, path: string): void {
  if (catalog.byPath.has(path)) return;
  const last = path.split(".").at(-1);
  const near =
    catalog.nodes.find(({ section }) => section.key === last)?.path ??
    nearest(path, [...catalog.byPath.keys()]);
  const hint =
    near === undefined
      ? ` Its sections are ${[...catalog.byPath.keys()].map((one) => `\`${one}\``).join(", ")}.`
      : ` Did you mean \`${near}\`?`;
  throw new Fault(
    "agent.invalid",
    `The agent \`${name}\` has no section \`${path.slice(0, 200)}\`, whose visibility was to be set.${hint}`,
  );
}
