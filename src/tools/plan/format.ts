/** Plans the format of an answer, and checks the answer where the upstream cannot be held to it. */

import { jsonOf } from "../../json/json.ts";
import { errorsIn } from "../../schema/check.ts";
import type { Emit, EventStage } from "../../stream/stage.ts";
import type { Decision } from "../../turn/decision.ts";
import type { TurnEnd, TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { isBySystem, textMessage } from "../../turn/item.ts";
import type { ClientName, UpstreamName } from "../../turn/names.ts";
import { itemPlace } from "../../turn/path.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Format, Item, JsonSchema, Message, Turn } from "../../turn/turn.ts";
import type { Decoder } from "../kinds/decoder.ts";
import { compileSchema } from "../schema/compile.ts";
import { isStrict, strictForm } from "../schema/strict.ts";

/** A format as an upstream can be asked for it. */
export type FormatPlan = {
  readonly format: Format | undefined;
  /** Instructions in place of a format that the upstream cannot be asked for. */
  readonly instructions?: string | undefined;
  /** A check of the answer, if the upstream does not enforce the format. */
  readonly check?: FormatCheck | undefined;
  readonly decisions: readonly Decision[];
};

export type FormatCheck = {
  /** Undefined: any JSON object. */
  readonly schema?: JsonSchema | undefined;
  /** True if an answer in another format fails. */
  readonly strict: boolean;
};

type Asked = Pick<Turn, "format" | "traits" | "dialect">;

/** Asks for JSON as strictly as the upstream can be asked; instructions state the rest. */
export function planFormat(
  { format, traits, dialect }: Asked,
  hasTools: boolean,
  given: Profile,
): FormatPlan {
  const { toolFormats } = given;
  const profile =
    toolFormats !== undefined && hasTools ? { ...given, formats: toolFormats } : given;
  if (format?.type !== "schema" && format?.type !== "json") return { format, decisions: [] };
  const { path } = traits.format;
  const isOwn = dialect === profile.dialect;
  const isOpen =
    format.type === "schema" &&
    format.strict === true &&
    profile.strictSchema === undefined &&
    !isStrict(format.schema);
  if (!isOpen || isOwn || traits.openStrict !== true) return plan(format, profile, path, isOwn);
  // The upstream would refuse an open schema as strict: it is asked without, and the answer checked.
  const planned = plan({ ...format, strict: false }, profile, path, false);
  const reason =
    "the upstream supports `strict` only for closed objects that require all properties, so the format is sent without it and the gateway checks the answer";
  return {
    ...planned,
    check: { schema: format.schema, strict: true },
    decisions:
      planned.decisions.length > 0 ? planned.decisions : [{ path, action: "reshaped", reason }],
  };
}

function plan(
  format: Exclude<Format, { type: "opaque" }>,
  profile: Profile,
  path: string,
  isOwn: boolean,
): FormatPlan {
  if (takesFormat(format, profile)) {
    // A client of the upstream's own dialect knows what it may ask for.
    const asked = isOwn ? format : withBareReferences(format, profile);
    const held = isOwn ? { format, decisions: [] } : heldStrictly(asked, profile, path);
    if (held !== undefined && asked !== format)
      return { ...held, decisions: [{ path, action: "reshaped", reason: BARE }] };
    if (held !== undefined) return held;
  }
  const changed = (reason: string): readonly Decision[] => [{ path, action: "changed", reason }];
  if (format.type !== "schema")
    return {
      format: undefined,
      instructions: formatInstructions(),
      check: { strict: true },
      decisions: changed(
        "the upstream has no JSON mode, so the instructions ask for JSON and the gateway checks the answer",
      ),
    };
  const { schema, strict, name, description } = format;
  return {
    format: profile.formats.includes("json") ? { type: "json" } : undefined,
    instructions: formatInstructions([name, description].filter(Boolean).join(": "), schema),
    // A client that asks for no strictness accepts any answer.
    check: { schema, strict: strict !== false },
    decisions: changed(
      "the upstream does not enforce schemas, so the instructions contain the schema and the gateway checks the answer",
    ),
  };
}

const BARE =
  "the upstream takes only references into `$defs`, so the schema is sent with its definitions there";

/** The same format for upstreams that take only bare references, unless values would change. */
function withBareReferences(
  format: Exclude<Format, { type: "opaque" }>,
  { tools }: Profile,
): Format {
  if (format.type !== "schema" || tools.schema?.refs !== "bare") return format;
  const { schema, codec } = compileSchema(format.schema, { refs: "bare", anyRoot: true });
  return codec === undefined && schema !== format.schema ? { ...format, schema } : format;
}

/** A format that need not be strict is asked for strictly only if that changes nothing. */
const takesFormat = (format: Format, { formats }: Profile): boolean =>
  formats.some((one) => one === format.type) ||
  (format.type === "schema" &&
    formats.includes("strict") &&
    (format.strict === true || isStrict(format.schema)));

/** Limits a format to what the upstream enforces, and checks the rest; undefined if it cannot be asked for. */
function heldStrictly(format: Format, profile: Profile, path: string): FormatPlan | undefined {
  const { strictSchema: rule, formats } = profile;
  if (format.type !== "schema" || rule === undefined || formats.includes("schema"))
    return { format, decisions: [] };
  const form = strictForm(format.schema, rule);
  if (form === undefined) return undefined;
  const { schema, loosened } = form;
  if (schema === format.schema) return { format, decisions: [] };
  const words = loosened.map((word) => `\`${word}\``).join(", ");
  const reason =
    loosened.length === 0
      ? "the upstream supports only closed objects, so the schema is sent with every object closed"
      : `the upstream does not support ${words}, so the gateway checks the answer for it`;
  return {
    format: { ...format, schema },
    ...(loosened.length > 0 && { check: { schema: format.schema, strict: true } }),
    decisions: [{ path, action: "reshaped", reason }],
  };
}

function formatInstructions(title?: string, schema?: JsonSchema): string {
  const what = schema === undefined ? "one JSON object" : "JSON that matches the schema below";
  const rule = `Your final answer must be ${what}, and nothing else: no code fence, no words before or after it. You may call tools first.`;
  return schema === undefined ? rule : `${rule}\n\n${title ?? ""}\n${JSON.stringify(schema)}`;
}

type Conversation = Pick<Turn<UpstreamName>, "items" | "places">;

/** Adds text to the instructions at the beginning, where it stays at one place from turn to turn. */
export function withInstructions(
  { items, places }: Conversation,
  instructions: string,
  { history }: Profile,
): Conversation {
  const isLeading = (item: Item<UpstreamName> | undefined): item is Message =>
    item !== undefined && isBySystem(item);
  let last = -1;
  while (isLeading(items[last + 1])) last++;
  const before = items[last];
  if (isLeading(before)) {
    const added = { type: "text", text: `\n\n${instructions}` } as const;
    return { items: items.with(last, { ...before, parts: [...before.parts, added] }), places };
  }
  const { roles } = history ?? {};
  const role = (["system", "developer"] as const).find((one) => roles?.includes(one) !== false);
  const message = textMessage(role ?? "user", instructions);
  const later = items.map((_, at) => itemPlace({ items, places }, at));
  return { items: [message, ...items], places: [0, ...later] };
}

type AnswerState = { text: string; unfence: Decoder; refused: boolean; called: boolean };

/**
 * Holds an answer to its format: removes code fences and, at the end, fails an
 * answer in another format. An answer with calls, a refusal and a truncated
 * answer are not checked.
 */
export function keepFormat(check: FormatCheck): EventStage<ClientName> {
  const choices: (AnswerState | undefined)[] = [];
  const ends: TurnEnd[] = [];
  const stateOf = (choice: number): AnswerState =>
    (choices[choice] ??= { text: "", unfence: unfence(), refused: false, called: false });
  const emitText = (choice: number, text: string, emit: Emit<TurnEvent<ClientName>>): void => {
    stateOf(choice).text += text;
    if (text !== "") emit({ type: "text-delta", choice, text });
  };
  return {
    each(event, emit) {
      switch (event.type) {
        case "text-start": {
          const state = stateOf(event.choice);
          state.text = "";
          state.unfence = unfence();
          break;
        }
        case "text-delta": {
          const state = stateOf(event.choice);
          const text = state.unfence.each(event.text);
          if (text !== event.text) return emitText(event.choice, text, emit);
          state.text += text;
          break;
        }
        case "text-end":
          emitText(event.choice, stateOf(event.choice).unfence.end(event.complete !== false), emit);
          break;
        case "refusal-delta":
          stateOf(event.choice).refused = true;
          break;
        case "call-start":
          stateOf(event.choice).called = true;
          break;
        case "turn-end":
          return void ends.push(event);
        case "turn-fail":
          ends.length = 0;
          break;
        default:
      }
      emit(event);
    },
    end(emit) {
      for (const { choice, stop } of ends) {
        const { text, refused, called } = stateOf(choice);
        const isAnswer = stop === "end" && !refused && !called;
        const flaw = isAnswer && check.strict ? flawOf(text, check) : undefined;
        if (flaw !== undefined) return emit({ type: "turn-fail", fault: unmet(flaw) });
      }
      for (const event of ends) emit(event);
    },
  };
}

/** The first violation of the format, as a clause. */
function flawOf(text: string, { schema }: FormatCheck): string | undefined {
  const value = jsonOf(text);
  if (value === undefined) return text.trim() === "" ? "it is empty." : "it is not JSON.";
  if (schema === undefined)
    return typeof value === "object" && value !== null ? undefined : "it is not a JSON object.";
  // A schema that cannot be read constrains nothing.
  const error = errorsIn(value, schema, text.length)?.at(-1);
  return error === undefined ? undefined : `at ${error.instanceLocation}, ${error.error}`;
}

const unmet = (flaw: string): Fault =>
  new Fault(
    "upstream.format",
    `The upstream's answer does not have the format that was asked for: ${flaw} Try again, or choose a model that enforces schemas.`,
  );

const FENCE = "```";

/**
 * Removes a code fence around JSON while it streams in, and any text after it:
 * models that are asked for nothing but JSON often add both. A text without a
 * fence passes through unchanged.
 */
export function unfence(): Decoder {
  let state: "head" | "plain" | "fenced" | "closed" = "head";
  /** First the possible opening of a fence, later its possible end. */
  let held = "";

  const take = (text: string): string => {
    const all = held + text;
    // No line of JSON begins with a fence, not even inside a string.
    const close = all.indexOf(`\n${FENCE}`);
    if (close !== -1) {
      state = "closed";
      held = "";
      return all.slice(0, close);
    }
    let end = all.length;
    while (end > 0 && "` \n\r\t".includes(all.charAt(end - 1))) end--;
    held = all.slice(end);
    return all.slice(0, end);
  };
  const open = (): string => {
    const opening = /^\s*```[\w-]*[ \t]*\r?\n/.exec(held);
    if (opening !== null) {
      state = "fenced";
      const rest = held.slice(opening[0].length);
      held = "";
      return take(rest);
    }
    if (/^\s*(`{0,2}|```[\w-]*[ \t]*\r?)$/.test(held)) return "";
    state = "plain";
    return held;
  };
  return {
    each(text) {
      switch (state) {
        case "plain":
          return text;
        case "fenced":
          return take(text);
        case "closed":
          return "";
        case "head":
          held += text;
          return open();
        default:
          return state satisfies never;
      }
    },
    end() {
      const isEnd = state === "fenced" && held.includes(FENCE);
      return isEnd || state === "plain" || state === "closed" ? "" : held;
    },
  };
}
