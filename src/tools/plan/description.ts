import type { UpstreamName } from "../../turn/names.ts";
import type { Tool } from "../../turn/turn.ts";
import type { Bound } from "./declare.ts";

const GOES_ON = "(this goes on in the instructions)";

/** A description in two: as much as fits, up to a space if there is one, and the rest. */
export function parted(description: string, most: number): { head: string; rest: string } {
  const room = description.slice(0, most - GOES_ON.length - 1);
  const space = room.search(/\s\S*$/);
  // Half a character is none.
  const bare = /[\ud800-\udbff]$/.test(room) ? room.slice(0, -1) : room;
  const head = space > 0 ? room.slice(0, space) : bare;
  return { head: `${head} ${GOES_ON}`, rest: description.slice(head.length).trim() };
}

/** The ends of descriptions that are too long for the upstream, for the instructions. */
export function restsOf(
  offered: readonly Bound[],
  sent: readonly Tool<UpstreamName>[],
): readonly string[] {
  const cut = offered.filter(({ rest }) => rest !== undefined);
  if (cut.length === 0) return [];
  const there = new Set(sent.flatMap((tool) => (tool.type === "namespace" ? tool.tools : [tool])));
  return cut
    .filter(({ declaration }) => there.has(declaration))
    .map(
      ({ upstream, rest }) => `The description of the tool \`${upstream.name}\` goes on:\n${rest}`,
    );
}
