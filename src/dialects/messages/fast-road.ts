import type { Fields } from "../../turn/turn.ts";
import { fieldsIn, fieldsOf } from "../shared/loose.ts";
import { Stencils } from "../shared/stencil.ts";

/** Where a delta of each type keeps its text. */
const places: ReadonlyMap<unknown, string> = new Map([
  ["text_delta", "text"],
  ["input_json_delta", "partial_json"],
  ["thinking_delta", "thinking"],
]);

/** Parses the frames of one stream, but for those that fit a stencil. */
export function frameParser(): (data: string) => Fields | undefined {
  const stencils = new Stencils();
  /** Frames of text are read at once and not kept, so they may share one object. */
  let shared: Fields = {};
  let delta: Record<string, unknown> = {};
  let place = "";
  return (data) => {
    const fitted = stencils.fit(data);
    if (fitted !== undefined) {
      delta[place] = fitted.text;
      return shared;
    }
    const raw = fieldsIn(data);
    const inner = raw?.type === "content_block_delta" ? fieldsOf(raw.delta) : undefined;
    const key = places.get(inner?.type);
    if (raw === undefined || inner === undefined || key === undefined) return raw;
    stencils.learn(data, [{ type: "text", path: ["delta", key] }]);
    shared = raw;
    delta = inner;
    place = key;
    return raw;
  };
}
