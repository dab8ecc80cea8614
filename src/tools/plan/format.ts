import { errorsIn } from "../../schema/check.ts";
import type { Emit, Stage } from "../../stream/stage.ts";
import type { Decision } from "../../turn/decision.ts";
import type { TextDelta, TurnEnd, TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { isBySystem } from "../../turn/item.ts";
import { jsonOf } from "../../json/json.ts";
import type { AnyName } from "../../turn/names.ts";
import { itemPlace } from "../../turn/path.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Format, Item, JsonSchema, Message, Turn } from "../../turn/turn.ts";
import type { Decoder } from "../kinds/decoder.ts";
import { isStrict, strictForm } from "../schema/strict.ts";

/** A format as an upstream can be asked for it. */
type FormatPlan = {
  readonly format: Format | undefined;
  /** Text for the model in place of what the upstream cannot be asked for. */
  readonly instructions?: string | undefined;
  /** What the answer must be, since nobody else sees to it. */
  readonly check?: FormatCheck | undefined;
  readonly decisions: readonly Decision[];
};

export type FormatCheck = {
  /** None: any JSON object. */
  readonly schema?: JsonSchema | undefined;
  /** Whether an answer that is something else fails. */
  readonly strict: boolean;
};

type FormatContext = {
  readonly path: string;
  /** Whether the client speaks the upstream's dialect. */
  readonly isOwn?: boolean | undefined;
  /** Whether the client's dialect is strict about objects that may leave properties out. */
  readonly openStrict?: boolean | undefined;
};

/** Asks for JSON as well as the upstream can be asked, and tells the model the rest. */
export function planFormat(
  format: Format | undefined,
  profile: Profile,
  { path, isOwn = false, openStrict = false }: FormatContext,
): FormatPlan {
  if (format?.type !== "schema" && format?.type !== "json") return { format, decisions: [] };
  if (openStrict && !isOwn && isOpen(format, profile)) return heldOpenly(format, profile, path);
  if (takesFormat(format, profile)) {
    // A client of the upstream's own dialect knows what it may ask for.
    const held = isOwn ? { format, decisions: [] } : heldStrictly(format, profile, path);
    if (held !== undefined) return held;
  }
  const hasJson = profile.formats.includes("json");
  if (format.type !== "schema")
    return {
      format: undefined,
      instructions: formatInstructions(),
      check: { strict: true },
      decisions: [
        changed(path, "the upstream has no JSON mode; its model is told, and the answer checked"),
      ],
    };
  const { schema, strict, name, description } = format;
  return {
    format: hasJson ? { type: "json" } : undefined,
    instructions: formatInstructions([name, description].filter(Boolean).join(": "), schema),
    // Who asks for no strictness takes what comes.
    check: { schema, strict: strict !== false },
    decisions: [
      changed(
        path,
        "the upstream cannot keep to a schema; its model is told it, and the answer checked",
      ),
    ],
  };
}

type SchemaFormat = Extract<Format, { type: "schema" }>;

/** Whether a strict format would be refused for a schema that is not closed. */
const isOpen = (format: Format, { strictSchema }: Profile): format is SchemaFormat =>
  format.type === "schema" &&
  format.strict === true &&
  strictSchema === undefined &&
  !isStrict(format.schema);

/** Asks for such a format without strictness, and has the answer checked. */
function heldOpenly(format: SchemaFormat, profile: Profile, path: string): FormatPlan {
  const plan = planFormat({ ...format, strict: false }, profile, { path });
  const reason =
    "the upstream is strict about closed objects with all properties only; it is asked without `strict`, and the answer checked";
  return {
    ...plan,
    check: { schema: format.schema, strict: true },
    decisions: plan.decisions.length > 0 ? plan.decisions : [{ path, action: "reshaped", reason }],
  };
}

/** One that nobody wants strict is asked for strictly only if that changes nothing. */
const takesFormat = (format: Format, { formats }: Profile): boolean =>
  formats.some((one) => one === format.type) ||
  (format.type === "schema" &&
    formats.includes("strict") &&
    (format.strict === true || isStrict(format.schema)));

/** A format within what the upstream enforces; what it cannot is checked afterwards. Undefined: it cannot be asked at all. */
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
      ? "the upstream takes closed objects only, so the schema is sent with every object closed"
      : `the upstream is not told of ${words}, and its answer is checked for that`;
  return {
    format: { ...format, schema },
    ...(loosened.length > 0 && { check: { schema: format.schema, strict: true } }),
    decisions: [{ path, action: "reshaped", reason }],
  };
}

const changed = (path: string, reason: string): Decision => ({ path, action: "changed", reason });

function formatInstructions(title?: string, schema?: JsonSchema): string {
  const what = schema === undefined ? "one JSON object" : "JSON that matches the schema below";
  const rule = `Your final answer must be ${what}, and nothing else: no code fence, no words before or after it. You may call tools first.`;
  return schema === undefined ? rule : `${rule}\n\n${title ?? ""}\n${JSON.stringify(schema)}`;
}

type Conversation<Name extends AnyName> = Pick<Turn<Name>, "items" | "places">;

/** Says words with the instructions at the beginning, where they do not move from turn to turn. */
export function withInstructions<Name extends AnyName>(
  { items, places }: Conversation<Name>,
  instructions: string,
  { history }: Profile,
): Conversation<Name> {
  const isLeading = (item: Item<Name> | undefined): item is Message =>
    item !== undefined && isBySystem(item);
  let last = -1;
  while (isLeading(items[last + 1])) last++;
  const before = items[last];
  if (!isLeading(before)) {
    const role = history?.roles?.includes("system") === false ? "developer" : "system";
    const message: Message = {
      type: "message",
      role,
      parts: [{ type: "text", text: instructions }],
    };
    const later = items.map((_, at) => itemPlace({ items, places }, at));
    return { items: [message, ...items], places: [0, ...later] };
  }
  const message = {
    ...before,
    parts: [...before.parts, { type: "text", text: `\n\n${instructions}` } as const],
  };
  return { items: items.with(last, message), places };
}

/** The answer of one choice so far. */
type AnswerState = { text: string; unfence: Decoder; refused: boolean; called: boolean };

/**
 * Holds an answer to its format: takes code fences off and, when all has been
 * said, fails an answer that is not what was asked for. A turn that calls tools
 * has not answered yet, and one that was cut off cannot be held to anything.
 */
export function keepFormat<Name extends AnyName>(
  check: FormatCheck,
): Stage<TurnEvent<Name>, TurnEvent<Name>> {
  const choices: (AnswerState | undefined)[] = [];
  const ends: TurnEnd[] = [];
  const stateOf = (choice: number): AnswerState =>
    (choices[choice] ??= { text: "", unfence: unfence(), refused: false, called: false });
  const pass = (event: TextDelta, emit: Emit<TurnEvent<Name>>): void => {
    const state = stateOf(event.choice);
    const text = state.unfence.each(event.text);
    state.text += text;
    if (text === event.text) emit(event);
    else if (text !== "") emit({ type: "text-delta", choice: event.choice, text });
  };
  return {
    each(event, emit) {
      switch (event.type) {
        case "text-start": {
          const state = stateOf(event.choice);
          state.text = "";
          state.unfence = unfence();
          return emit(event);
        }
        case "text-delta":
          return pass(event, emit);
        case "text-end": {
          const state = stateOf(event.choice);
          const text = state.unfence.end(event.complete !== false);
          state.text += text;
          if (text !== "") emit({ type: "text-delta", choice: event.choice, text });
          return emit(event);
        }
        case "refusal-delta":
          stateOf(event.choice).refused = true;
          return emit(event);
        case "call-start":
          stateOf(event.choice).called = true;
          return emit(event);
        case "turn-end":
          return void ends.push(event);
        case "turn-fail":
          ends.length = 0;
          return emit(event);
        default:
          emit(event);
      }
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

/** What is wrong with an answer, if anything is. */
function flawOf(text: string, { schema }: FormatCheck): string | undefined {
  const value = jsonOf(text);
  if (value === undefined) return text.trim() === "" ? "it is empty." : "it is not JSON.";
  if (schema === undefined)
    return typeof value === "object" && value !== null ? undefined : "it is not a JSON object.";
  // A schema that nobody can read holds nobody to anything.
  const error = errorsIn(value, schema, text.length)?.at(-1);
  return error === undefined ? undefined : `at ${error.instanceLocation}, ${error.error}`;
}

const unmet = (flaw: string): Fault =>
  new Fault(
    "upstream.format",
    `The upstream's answer does not have the format that was asked for: ${flaw} Try again, or choose a model that can keep to a schema.`,
  );

const FENCE = "```";

/**
 * Takes a code fence off JSON while it streams in: models that are asked for
 * nothing but JSON like to put one around it, and words behind that. A text
 * without a fence goes through as it is.
 */
export function unfence(): Decoder {
  let state: "head" | "plain" | "fenced" | "over" = "head";
  /** At first what may be the opening of a fence, later what may be its end. */
  let held = "";

  const take = (text: string): string => {
    const whole = held + text;
    // JSON holds no line that begins with a fence, not even in its strings.
    const close = whole.indexOf(`\n${FENCE}`);
    if (close !== -1) {
      state = "over";
      held = "";
      return whole.slice(0, close);
    }
    let end = whole.length;
    while (end > 0 && "` \n\r\t".includes(whole.charAt(end - 1))) end--;
    held = whole.slice(end);
    return whole.slice(0, end);
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
        case "over":
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
      return isEnd || state === "plain" || state === "over" ? "" : held;
    },
  };
}
