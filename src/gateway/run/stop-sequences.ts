/** Stop sequences for upstreams that have no such parameter. */

import { takesParam } from "../../dialects/shared/params.ts";
import { modelProfile } from "../../profiles/models.ts";
import type { Turn } from "../../turn/turn.ts";
import type { Link } from "./select.ts";

/** More than any API takes; each is looked for in every character of an answer. */
const MOST_SEQUENCES = 64;
const none: readonly string[] = [];

/** The sequences of a turn that the gateway has to see to for one place where its model is to be had. */
export function sequencesFor({ params }: Turn, { upstream, model }: Link): readonly string[] {
  const { stop = none } = params;
  if (stop.length === 0) return none;
  const profile = modelProfile(upstream.profile, model);
  if (takesParam("stop", profile, upstream.traits)) return none;
  return stop.filter((sequence) => sequence !== "").slice(0, MOST_SEQUENCES);
}
