import type { CallEnd } from "./event.ts";
import { isInstructions } from "./item.ts";
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
  if (turn.dialect === "chat") return `messages[${messageOf(turn.items, at)}]`;
  const item = turn.items[at];
  if (item !== undefined && isInstructions(item)) return "instructions";
  if (typeof turn.body.input === "string") return "input";
  return `input[${at - turn.items.slice(0, at).filter(isInstructions).length}]`;
}

/** Chat says reasoning, text and calls that follow each other in one message. */
function messageOf<Name extends AnyName>(items: readonly Item<Name>[], at: number): number {
  let message = -1;
  let before: "reasoning" | "text" | "call" | undefined;
  for (const item of items.slice(0, at + 1)) {
    const now = placeOf(item);
    const goesOn =
      (now === "text" && before === "reasoning") || (now === "call" && before !== undefined);
    if (!goesOn) message++;
    before = now;
  }
  return message;
}

function placeOf<Name extends AnyName>(
  item: Item<Name>,
): "reasoning" | "text" | "call" | undefined {
  if (item.type === "message") return item.role === "assistant" ? "text" : undefined;
  return item.type === "reasoning" || item.type === "call" ? item.type : undefined;
}

/** Where a call stands in what the model said: the client may have been given fewer. */
export const callPath = ({ choice, call }: Pick<CallEnd, "choice" | "call">): string =>
  `output.choices[${choice}].calls[${call}]`;
