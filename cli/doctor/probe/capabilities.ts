/** The difference between what a profile says of a model and what a probe has shown. */

import type { Capabilities } from "../../../src/gateway/http/capabilities.ts";
import type { Profile, ToolChoiceForm } from "../../../src/turn/profile.ts";
import type { LeftInText } from "./left-in-text.ts";
import type { QuestionName } from "./questions.ts";

export type Facts = {
  readonly can: ReadonlyMap<QuestionName, boolean>;
  readonly left?: LeftInText | undefined;
};

type Tools = NonNullable<Capabilities["tools"]>;

/** What `capabilities` must say so that the profile is true; nothing that is true already, or was left open. */
export function trueCapabilities(profile: Profile, { can, left }: Facts): Capabilities {
  const parallel = differing(can.get("two_calls"), profile.tools.parallel);
  const choice = choiceFor(profile, can);
  const custom = customFor(profile, can.get("custom_tool"));
  const isWritten = left?.isUseTool === true && profile.tools.written !== true;
  const tools: Tools = {
    ...(parallel !== undefined && { parallel }),
    ...(choice !== undefined && { choice: [...choice] }),
    ...(custom !== undefined && { kinds: { custom } }),
    ...(isWritten && { written: true }),
  };
  const formats = formatsFor(profile, can.get("schema"));
  const streamUsage = differing(can.get("usage"), profile.streamUsage);
  return {
    ...(Object.keys(tools).length > 0 && { tools }),
    ...(formats !== undefined && { formats: [...formats] }),
    ...(streamUsage !== undefined && { streamUsage }),
  };
}

const differing = (shown: boolean | undefined, claimed: boolean): boolean | undefined =>
  shown === claimed ? undefined : shown;

/** Each form stands for one question; those that nobody asked about stay as they are. */
const asked: readonly (readonly [ToolChoiceForm, QuestionName])[] = [
  ["none", "none"],
  ["required", "required"],
  ["function", "named"],
];

function choiceFor(
  { tools: { choice } }: Profile,
  can: Facts["can"],
): readonly ToolChoiceForm[] | undefined {
  const order: readonly ToolChoiceForm[] = ["auto", "none", "required", "function", "allowed"];
  const shown = new Map(asked.map(([form, question]) => [form, can.get(question)]));
  const right = order.filter((form) => shown.get(form) ?? choice.includes(form));
  const isSame = right.length === choice.length && right.every((form) => choice.includes(form));
  return isSame ? undefined : right;
}

function customFor({ tools: { kinds } }: Profile, can: boolean | undefined) {
  const isNative = (kinds["custom"] ?? kinds["*"]) === "native";
  if (can === undefined || can === isNative) return undefined;
  return can ? ("native" as const) : ("degrade" as const);
}

function formatsFor({ formats }: Profile, can: boolean | undefined) {
  const claims = formats.includes("schema") || formats.includes("strict");
  if (can === undefined || can === claims) return undefined;
  return can
    ? [...formats, "schema" as const]
    : formats.filter((form) => form !== "schema" && form !== "strict");
}
