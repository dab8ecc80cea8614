import type { CallEnd } from "./event.ts";
import { isInstructions } from "./item.ts";
import { memoizeByIdentity } from "./memoize.ts";
import type { AnyName } from "./names.ts";
import type { Item, Tool, Turn } from "./turn.ts";

type Conversation<Name extends AnyName> = Pick<
  Turn<Name>,
  "traits" | "items" | "places" | "body" | "historyPath"
>;

/** The path of an item in the client's own request. */
export function itemPath<Name extends AnyName>(turn: Conversation<Name>, at: number): string {
  const { conversation, instructions } = turn.traits;
  const item = turn.items[at];
  if (instructions !== undefined && item !== undefined && isInstructions(item)) return instructions;
  const place = itemPlace(turn, at);
  if (place < 0) return turn.historyPath ?? conversation;
  if (typeof turn.body[conversation] === "string") return conversation;
  return `${conversation}[${place}]`;
}

/** The index of an item in the client's own request. */
export const itemPlace = <Name extends AnyName>(
  { items, places = inputsOf(items) }: Pick<Turn<Name>, "items" | "places">,
  at: number,
): number => places[at] ?? at;

/** The path of a tool in the client's own request; `at`: its place in the list of tools. */
export const toolPath = (tool: Tool<AnyName>, at: number): string => tool.path ?? `tools[${at}]`;

type Items = readonly Item<AnyName>[];

/** Places for a conversation whose first `earlier` items come from earlier turns. */
export const placesAfter = <Name extends AnyName>(
  items: readonly Item<Name>[],
  earlier: number,
): readonly number[] => {
  let place = -earlier;
  return items.map((item) => (isInstructions(item) ? 0 : Math.max(-1, place++)));
};

/** The place of each item in the input. Instructions are not part of the input. */
const inputsOf = memoizeByIdentity((items: Items): readonly number[] => {
  let place = 0;
  return items.map((item) => (isInstructions(item) ? place : place++));
});

/** The path of a call in the model's answer; the client may have received fewer calls. */
export const callPath = ({ choice, call }: Pick<CallEnd, "choice" | "call">): string =>
  `output.choices[${choice}].calls[${call}]`;
