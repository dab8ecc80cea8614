/** Asks another upstream to go on where one broke off in mid-answer. */

import type { Item, Turn } from "../../turn/turn.ts";
import type { TurnStage } from "./turn-stage.ts";

/** What the next model is told behind the words that the client has seen. */
const GO_ON =
  "Your answer above was cut off. Go on exactly where it ends: do not repeat, rephrase or mention any of it.";

/**
 * The turn's own stage, asking with the words that were said so far. With none,
 * the same is asked again; it is a copy, so that the answer is not forwarded
 * frame by frame into a stream that another upstream began.
 */
export const goingOn = (stage: TurnStage | undefined, said: string): TurnStage => ({
  each: (event, emit) => emit(event),
  ...stage,
  ask(profile, own) {
    const asked = stage?.ask?.(profile, own) ?? own;
    return said === "" ? { ...asked } : { ...asked, items: [...asked.items, ...goOnItems(said)] };
  },
});

const goOnItems = (said: string): readonly Item[] => [
  { type: "message", role: "assistant", parts: [{ type: "text", text: said }] },
  { type: "message", role: "user", parts: [{ type: "text", text: GO_ON }] },
];

/**
 * Whether another model may go on with this turn's answer: one choice, and where
 * words were shown, words that are free. Half of a JSON text has no sure rest.
 */
export const mayGoOn = ({ params, format }: Turn, said: string): boolean =>
  (params.n ?? 1) === 1 && (said === "" || format === undefined || format.type === "text");
