/** Reads frames that repeat the shape of the one before without parsing them again. */

import type { Emit } from "../../stream/stage.ts";
import type { VendorExtra, Frame, TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf } from "../shared/loose.ts";
import { Stencils, type Hole } from "../shared/stencil.ts";
import { reasoningFields } from "./details.ts";
import type { FrameLane } from "./frame-lane.ts";
import type { ChoiceReader, ContentDelta } from "./read-choice.ts";

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

/** For frames with more text of what the frame before it was about; any other is parsed. */
export function fastRoad(fast: boolean): FastRoad {
  const stencils = new Stencils();
  let choice: ChoiceReader | undefined;
  let delta: ContentDelta | undefined;
  /** Vendor fields that every such frame repeats: many label each piece. */
  let extra: VendorExtra | undefined;
  let forwardable = true;
  return {
    take(data, name, lane, emit) {
      // A stencil is of the data alone, so a frame with an event name fits none.
      const fitted = stencils.fit(name === undefined ? data : "");
      if (fitted === undefined || choice === undefined || delta === undefined) return false;
      choice.more(delta, fitted.text, emit);
      if (extra !== undefined) emit(extra);
      lane.each({ type: "frame", data, forwardable }, false, emit);
      return true;
    },
    learn(frame, raw, from) {
      const only = fast ? from?.onlyDelta() : undefined;
      const holes = only && holesOf(raw, only);
      if (holes === undefined) return;
      stencils.learn(frame.data, holes);
      choice = from;
      delta = only;
      extra = from?.vendorExtra();
      forwardable = frame.forwardable;
    },
  };
}

/** What changes from one such frame to the next: the text, and padding where there is any. */
export function holesOf(raw: Fields, delta: ContentDelta): readonly Hole[] | undefined {
  const path = placeOf(raw, delta);
  if (path === undefined) return undefined;
  const text: Hole = { type: "text", path };
  return raw.obfuscation === undefined ? [text] : [text, padding];
}

const padding: Hole = { type: "padding", path: ["obfuscation"] };

/** Where in the frame the text stands. */
function placeOf(raw: Fields, { type, text }: ContentDelta): readonly string[] | undefined {
  const delta = fieldsOf(fieldsOf(listOf(raw.choices)?.[0])?.delta);
  const inDelta = ["choices", "0", "delta"];
  switch (type) {
    case "text-delta":
      return delta?.content === text ? [...inDelta, "content"] : undefined;
    case "refusal-delta":
      return [...inDelta, "refusal"];
    case "reasoning-delta": {
      const key = reasoningFields.find((one) => delta?.[one] === text);
      return key === undefined ? undefined : [...inDelta, key];
    }
    case "call-delta": {
      const [entry, ...others] = listOf(delta?.tool_calls) ?? [];
      const call = others.length === 0 ? fieldsOf(entry) : undefined;
      const inCall = [...inDelta, "tool_calls", "0"];
      if (fieldsOf(call?.function)?.arguments === text) return [...inCall, "function", "arguments"];
      return fieldsOf(call?.custom)?.input === text ? [...inCall, "custom", "input"] : undefined;
    }
    default:
      return type satisfies never;
  }
}
