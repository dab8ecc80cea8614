/** Reads frames that repeat the shape of the one before without parsing them again. */

import type { Emit } from "../../stream/stage.ts";
import type { VendorExtra, Frame, TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf } from "../shared/loose.ts";
import { Stencils, type Hole } from "../shared/stencil.ts";
import { thoughtFields } from "./details.ts";
import type { FrameLane } from "./frame-lane.ts";
import type { ChoiceReader, Spoken } from "./read-choice.ts";

export type FastRoad = {
  /** Takes a frame that needs no parsing. */
  take(
    data: string,
    name: string | undefined,
    lane: FrameLane,
    emit: Emit<TurnEvent<UpstreamName>>,
  ): boolean;
  learn(frame: Frame, raw: Fields, choice: ChoiceReader | undefined): void;
};

/** For frames that say more of what the one before said; any other may have changed what it means. */
export function fastRoad(fast: boolean): FastRoad {
  const stencils = new Stencils();
  let choice: ChoiceReader | undefined;
  let spoken: Spoken | undefined;
  /** What every such frame says beside it: many label each piece. */
  let aside: VendorExtra | undefined;
  let forwardable = true;
  return {
    take(data, name, lane, emit) {
      // A name says what no stencil does, so such a frame fits none.
      const fitted = stencils.fit(name === undefined ? data : "");
      if (fitted === undefined || choice === undefined || spoken === undefined) return false;
      choice.more(spoken, fitted.text, emit);
      if (aside !== undefined) emit(aside);
      lane.each({ type: "frame", data, forwardable }, false, emit);
      return true;
    },
    learn(frame, raw, from) {
      const said = fast ? from?.spoken() : undefined;
      const holes = said && holesOf(raw, said);
      if (holes === undefined) return;
      stencils.learn(frame.data, holes);
      choice = from;
      spoken = said;
      aside = from?.aside();
      forwardable = frame.forwardable;
    },
  };
}

/** What changes while more of the same is said: the text, and padding where there is any. */
export function holesOf(raw: Fields, spoken: Spoken): readonly Hole[] | undefined {
  const path = placeOf(raw, spoken);
  if (path === undefined) return undefined;
  const text: Hole = { type: "text", path };
  return raw.obfuscation === undefined ? [text] : [text, padding];
}

const padding: Hole = { type: "padding", path: ["obfuscation"] };

/** Where in the frame the text stands. */
function placeOf(raw: Fields, spoken: Spoken): readonly string[] | undefined {
  const delta = fieldsOf(fieldsOf(listOf(raw.choices)?.[0])?.delta);
  const inDelta = ["choices", "0", "delta"];
  switch (spoken.type) {
    case "text-delta":
      return delta?.content === spoken.text ? [...inDelta, "content"] : undefined;
    case "refusal-delta":
      return [...inDelta, "refusal"];
    case "reasoning-delta": {
      const key = thoughtFields.find((one) => delta?.[one] === spoken.text);
      return key === undefined ? undefined : [...inDelta, key];
    }
    case "call-delta": {
      const [entry, ...others] = listOf(delta?.tool_calls) ?? [];
      const call = others.length === 0 ? fieldsOf(entry) : undefined;
      const inCall = [...inDelta, "tool_calls", "0"];
      if (fieldsOf(call?.function)?.arguments === spoken.text)
        return [...inCall, "function", "arguments"];
      return fieldsOf(call?.custom)?.input === spoken.text
        ? [...inCall, "custom", "input"]
        : undefined;
    }
    default:
      return spoken satisfies never;
  }
}
