import type { CallEnd } from "./event.ts";
import { isInstructions } from "./item.ts";
import { kept } from "./kept.ts";
import type { AnyName } from "./names.ts";
import type { DialectName, Item, Turn } from "./turn.ts";

/** Where the client finds the format it asked for. */
export const formatPath = (dialect: DialectName): string =>
  dialect === "chat" ? "response_format" : "text.format";

/** Where the client finds an item in its own request. */
export function itemPath<Name extends AnyName>(
  turn: Pick<Turn<Name>, "dialect" | "items" | "body">,
  at: number,
): string {
  if (turn.dialect === "chat") return `messages[${messagesOf(turn.items)[at] ?? 0}]`;
  const item = turn.items[at];
  if (item !== undefined && isInstructions(item)) return "instructions";
  if (typeof turn.body.input === "string") return "input";
  return `input[${inputsOf(turn.items)[at] ?? at}]`;
}

type Items = readonly Item<AnyName>[];

/** The message of each item: chat says reasoning, text and calls that follow each other in one. */
const messagesOf = kept((items: Items): readonly number[] => {
  let message = -1;
  let before: "reasoning" | "text" | "call" | undefined;
  return items.map((item) => {
    const now = placeOf(item);
    const goesOn =
      (now === "text" && before === "reasoning") || (now === "call" && before !== undefined);
    if (!goesOn) message++;
    before = now;
    return message;
  });
});

/** The place of each item in the input, where instructions have none. */
const inputsOf = kept((items: Items): readonly number[] => {
  let place = 0;
  return items.map((item) => (isInstructions(item) ? place : place++));
});

function placeOf<Name extends AnyName>(
  item: Item<Name>,
): "reasoning" | "text" | "call" | undefined {
  if (item.type === "message") return item.role === "assistant" ? "text" : undefined;
  return item.type === "reasoning" || item.type === "call" ? item.type : undefined;
}

/** Where a call stands in what the model said: the client may have been given fewer. */
export const callPath = ({ choice, call }: Pick<CallEnd, "choice" | "call">): string =>
  `output.choices[${choice}].calls[${call}]`;
