import type { Fields } from "../../turn/turn.ts";
import { fieldsIn, listOf, filledText } from "../shared/loose.ts";
import { Stencils, type Hole } from "../shared/stencil.ts";

/** Frames of these types are read at once and not kept, so they may share one object. */
const deltaTypes =
  /^response\.(output_text|refusal|reasoning_text|reasoning_summary_text|function_call_arguments|custom_tool_call_input)\.delta$/;

const plain: readonly Hole[] = [
  { type: "number", path: ["sequence_number"] },
  { type: "text", path: ["delta"] },
];
const padded: readonly Hole[] = [...plain, { type: "padding", path: ["obfuscation"] }];

/** Parses the frames of one stream, but for those that fit a stencil. */
export function frameParser(): (data: string) => Fields | undefined {
  const stencils = new Stencils();
  let shared: Record<string, unknown> = {};
  return (data) => {
    const fitted = stencils.fit(data);
    if (fitted !== undefined) {
      shared.sequence_number = fitted.number;
      shared.delta = fitted.text;
      if (fitted.holes.length === padded.length) shared.obfuscation = fitted.padding;
      return shared;
    }
    const raw = fieldsIn(data);
    if (raw === undefined || !isDelta(raw)) return raw;
    stencils.learn(data, filledText(raw.obfuscation) === undefined ? plain : padded);
    shared = raw;
    return raw;
  };
}

/** Alternatives for each token are another matter each time. */
const isDelta = ({ type, logprobs }: Fields): boolean =>
  typeof type === "string" && deltaTypes.test(type) && (listOf(logprobs) ?? []).length === 0;
