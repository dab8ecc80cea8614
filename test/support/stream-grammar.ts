import type { TurnEvent } from "../../src/turn/event.ts";
import type { AnyName } from "../../src/turn/names.ts";

type Side = {
  open: "text" | "reasoning" | undefined;
  readonly calls: Map<number, { readonly kind: string; input: string; open: boolean }>;
  readonly items: Map<number, boolean>;
  ended: boolean;
};

/**
 * What a stream of events breaks of the law in `turn/event.ts`, as sentences;
 * none if it is lawful. Knows nothing of how it was made so.
 */
export function broken(events: readonly TurnEvent<AnyName>[]): string[] {
  const faults: string[] = [];
  const sides = new Map<number, Side>();
  let started = false;
  let failed = false;
  const check = (holds: boolean, law: string): void => void (holds || faults.push(law));

  for (const event of events) {
    check(!failed, `${event.type} after turn-fail`);
    if (event.type === "frame") check(started, "a frame before the turn has begun");
    if (event.type === "frame") continue;
    if (event.type === "turn-fail") {
      failed = true;
      for (const side of sides.values()) {
        check(isClosed(side), "something is open at turn-fail");
        check(!side.ended, "turn-end and turn-fail");
      }
      continue;
    }
    check(started !== (event.type === "turn-start"), `${event.type} where a start belongs`);
    started = true;
    if (event.type === "turn-start" || event.type === "usage") continue;
    let side = sides.get(event.choice);
    if (side === undefined)
      sides.set(
        event.choice,
        (side = { open: undefined, calls: new Map(), items: new Map(), ended: false }),
      );
    check(!side.ended, `${event.type} after turn-end`);
    for (const fault of step(side, event)) faults.push(fault);
  }
  if (failed) return faults;
  check(sides.size > 0, "no choice and no turn-fail");
  for (const [choice, side] of sides) check(side.ended, `choice ${choice} has no turn-end`);
  return faults;
}

const isClosed = ({ open, calls, items }: Side): boolean =>
  open === undefined &&
  [...calls.values()].every((call) => !call.open) &&
  [...items.values()].every((isOpen) => !isOpen);

function* step(
  side: Side,
  event: Extract<TurnEvent<AnyName>, { readonly choice: number }>,
): Generator<string> {
  if ("text" in event && event.text === "" && !("logprobs" in event)) yield `empty ${event.type}`;
  switch (event.type) {
    case "text-start":
    case "reasoning-start":
      if (side.open !== undefined) yield `${event.type} while ${side.open} is open`;
      side.open = event.type === "text-start" ? "text" : "reasoning";
      return;
    case "text-break":
    case "text-delta":
    case "text-note":
    case "refusal-delta":
    case "text-end":
      if (side.open !== "text") yield `${event.type} outside a text`;
      if (event.type === "text-end") side.open = undefined;
      return;
    case "reasoning-delta":
    case "reasoning-end":
      if (side.open !== "reasoning") yield `${event.type} outside a reasoning`;
      if (event.type === "reasoning-end") side.open = undefined;
      return;
    case "vendor-extra":
      if (event.of === "reasoning" && side.open !== "reasoning")
        yield "an aside of reasoning outside of one";
      return;
    case "call-start":
      if (side.calls.has(event.call)) yield `call ${event.call} starts twice`;
      side.calls.set(event.call, { kind: event.kind, input: "", open: true });
      return;
    case "call-delta":
    case "call-end": {
      const call = side.calls.get(event.call);
      if (call?.open !== true) yield `${event.type} outside call ${event.call}`;
      else if (event.type === "call-delta") call.input += event.text;
      else {
        call.open = false;
        if (event.complete && call.kind === "function" && call.input === "")
          yield "a complete function call has no arguments";
      }
      return;
    }
    case "item-start":
      if (side.items.has(event.item)) yield `item ${event.item} starts twice`;
      side.items.set(event.item, true);
      return;
    case "item-note":
    case "item-end":
      if (side.items.get(event.item) !== true) yield `${event.type} outside item ${event.item}`;
      if (event.type === "item-end") side.items.set(event.item, false);
      return;
    case "turn-end":
      if (!isClosed(side)) yield "something is open at turn-end";
      side.ended = true;
      return;
    default:
      event satisfies never;
  }
}
