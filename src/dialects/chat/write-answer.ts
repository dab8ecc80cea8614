import type { Answer, AnswerChoice } from "../../stream/fold.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Call, Fields, Item, Part, Reasoning, Turn } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import { ownExtra } from "../shared/content.ts";
import { given } from "../shared/loose.ts";
import { lossReporter, losePause } from "../shared/losses.ts";
import {
  declaresFunctions,
  mergedPieces,
  writeChatAnnotation,
  writeFinish,
  writeHosted,
  writeUsage,
} from "./answer-fields.ts";

/** Writes a whole answer as a `chat.completion`. */
export function writeAnswer(answer: Answer<ClientName>, turn: Turn, context: WriteContext): string {
  const legacy = declaresFunctions(turn.body);
  const lose = lossReporter("chat", context.report);
  return JSON.stringify({
    ...(answer.dialect === "chat" ? answer.extra : {}),
    ...answerHead(answer, turn, context),
    object: "chat.completion",
    choices: answer.choices.map((choice) => {
      for (const item of choice.items)
        if (item.type === "reasoning" && item.encrypted !== undefined && item.details === undefined)
          lose("sealed reasoning", choice.index);
      losePause({ choice: choice.index, stop: choice.stop }, lose);
      return writeChoice(choice, legacy, context);
    }),
    ...(answer.usage === undefined ? {} : { usage: writeUsage(answer.usage) }),
  });
}

/** The fields that every chunk and body has. Ids of another dialect are not shown. */
export function answerHead(
  start: Pick<Answer<ClientName>, "dialect" | "id" | "model" | "created" | "extra">,
  turn: Turn,
  context: WriteContext,
): Fields {
  const own = start.dialect === "chat" ? start : undefined;
  const { service_tier, system_fingerprint } = own?.extra ?? {};
  return {
    id: own?.id ?? context.id,
    created: own?.created ?? context.created,
    model: start.model ?? turn.model,
    ...(service_tier === undefined ? {} : { service_tier }),
    ...(system_fingerprint === undefined ? {} : { system_fingerprint }),
  };
}

function writeChoice(
  { index, items, vendorExtras, choiceExtra, stop }: AnswerChoice<ClientName>,
  legacy: boolean,
  context: WriteContext,
): Fields {
  const parts = items.flatMap((item) => (item.type === "message" ? item.parts : []));
  const texts = parts.filter((part) => part.type === "text");
  const logprobs = texts.flatMap((part) => part.logprobs ?? []);
  // A client must not run a call that was cut off.
  const calls = items.filter((item) => item.type === "call" && item.status !== "incomplete");
  const [first, ...rest] = calls as Call[];
  const called = legacy ? rest : (calls as Call[]);
  const refusal = refusalOf(parts);
  const content = texts.map((part) => part.text).join("");
  const images = items.flatMap((item) =>
    item.type === "opaque" ? (writeHosted(item.raw, index, context) ?? []) : [],
  );
  return {
    ...ownExtra(choiceExtra, "chat"),
    index,
    message: {
      ...(vendorExtras ?? []).map((extra) => ownExtra(extra, "chat")).reduce(mergedPieces, {}),
      role: "assistant",
      content: content === "" && (calls.length > 0 || refusal !== null) ? null : content,
      refusal,
      annotations: texts
        .flatMap((part) => part.annotations ?? [])
        .flatMap((one) => writeChatAnnotation(one) ?? []),
      ...writeReasoning(items),
      ...(images.length > 0 ? { images } : {}),
      ...(legacy && first !== undefined
        ? { function_call: { name: first.name, arguments: first.input } }
        : {}),
      ...(called.length > 0 ? { tool_calls: called.map(writeCall) } : {}),
    },
    logprobs: logprobs.length > 0 ? { content: logprobs, refusal: null } : null,
    finish_reason: writeFinish(stop, legacy && first !== undefined),
  };
}

function refusalOf(parts: readonly Part[]): string | null {
  const refusals = parts.flatMap((part) => (part.type === "refusal" ? part.text : []));
  return refusals.length === 0 ? null : refusals.join("");
}

function writeReasoning(items: readonly Item[]): Fields {
  const all = items.filter((item) => item.type === "reasoning");
  const text = all
    .map((item) => [...item.content, ...item.summary].filter((one) => one !== "").join("\n\n"))
    .join("");
  return {
    ...(text === "" ? {} : { reasoning_content: text }),
    ...all.map(signatureOf).reduce(mergedPieces, {}),
  };
}

/** The signatures of reasoning, in the fields in which they came. */
export const signatureOf = ({ details, extra }: Pick<Reasoning, "details" | "extra">): Fields => ({
  ...ownExtra(extra, "chat"),
  ...(details === undefined ? {} : { reasoning_details: details }),
});

/** Chat has two kinds of call; one of another kind is a function's by that name. */
const writeCall = ({ id, kind, name, namespace, input, extra }: Call): Fields => {
  const named = { name, ...given({ namespace }) };
  return {
    ...ownExtra(extra, "chat"),
    id,
    ...(kind === "custom"
      ? { type: "custom", custom: { ...named, input } }
      : { type: "function", function: { ...named, arguments: input } }),
  };
};
