import { sseDone, sseFrame } from "../../stream/sse.ts";
import type { Emit } from "../../stream/stage.ts";
import { discard, type EventWriter } from "../../stream/straight.ts";
import type { EventOf, TurnEvent, TurnStart, Usage } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Call, Fields, Item, Part, Reasoning, Turn } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import { asNextParagraph, literalsOf, type Pieces } from "../shared/frame-runs.ts";
import { ownExtra } from "../shared/content.ts";
import { given } from "../shared/loose.ts";
import { faultBody } from "../errors/fault-body.ts";
import { losePause, lossReporter, type OnLoss } from "../shared/losses.ts";
import {
  declaresFunctions,
  mergedPieces,
  writeChatAnnotation,
  writeFinish,
  writeHosted,
  writeUsage,
} from "./answer-fields.ts";
import type { Answer, AnswerChoice } from "../../stream/fold.ts";

type Event<Type extends TurnEvent<ClientName>["type"]> = EventOf<Type, ClientName>;

/** A delta with a hole for its text; `around`, the text before and after it, is made when it is first written. */
type DeltaForm = { readonly choice: number; readonly delta: Fields; around?: readonly string[] };

type Choice = {
  readonly text: DeltaForm;
  readonly reasoning: DeltaForm;
  /** For pieces of arguments, in the order in which the calls began. */
  readonly calls: Map<number, DeltaForm>;
  /** The paragraph of the reasoning that was written last. */
  paragraph: string | undefined;
  /** True if the signatures of the reasoning have been written as they came. */
  signed: boolean;
};

/** Marks the place of the text of a delta. */
const HOLE = "\u{f0000}";

/** Writes a chat stream as the strictest readers want it. */
export const writeEvents = (turn: Turn, context: WriteContext): EventWriter<ClientName> =>
  new ChatWriter(turn, context);

class ChatWriter implements EventWriter<ClientName> {
  readonly #turn: Turn;
  readonly #context: WriteContext;
  readonly #legacy: boolean;
  readonly #lose: OnLoss;
  readonly #choices = new Map<number, Choice>();
  /** Vendor fields that go out with the next chunk of a choice. */
  readonly #pendingExtra = new Map<number, Fields>();
  #answerExtra: Fields | undefined;
  #start: TurnStart = { type: "turn-start" };
  #head: Fields | undefined;
  #usage: Usage | undefined;
  #failed = false;

  constructor(turn: Turn, context: WriteContext) {
    this.#turn = turn;
    this.#context = context;
    this.#legacy = declaresFunctions(turn.body);
    this.#lose = lossReporter("chat", context.report);
  }

  each(event: TurnEvent<ClientName>, emit: Emit<string>): void {
    switch (event.type) {
      case "turn-start":
        this.#start = event;
        if (event.dialect === "chat") this.#answerExtra = event.extra;
        return;
      case "text-delta":
        return this.#writeText(event, emit);
      case "call-delta": {
        const form = this.#choices.get(event.choice)?.calls.get(event.call);
        if (form !== undefined) this.#writePieces(form, event, emit);
        return;
      }
      case "reasoning-delta":
        return this.#writeReasoning(event, emit);
      case "call-start":
        return this.#writeCall(event, emit);
      case "refusal-delta":
        this.#choice(event.choice, emit);
        return this.#writeDelta(emit, event.choice, { refusal: event.text });
      case "text-note":
        return this.#writeNote(event, emit);
      case "reasoning-end":
        return this.#endReasoning(event, emit);
      case "vendor-extra":
        return this.#writeVendorExtra(event, emit);
      case "item-end":
        return this.#writeItem(event, emit);
      case "usage":
        this.#usage = event.usage;
        return;
      case "turn-end":
        return this.#writeEnd(event, emit);
      case "turn-fail":
        this.#failed = true;
        emit(sseFrame(JSON.stringify(faultBody(event.fault))));
        this.#writeClosingComment(emit);
        return emit(sseDone);
      // Their content is written, or chat has no form for it.
      case "text-start":
      case "text-break":
      case "text-end":
      case "reasoning-start":
      case "call-end":
      case "item-start":
      case "item-note":
      case "frame":
        return;
      default:
        event satisfies never;
    }
  }

  end(emit: Emit<string>): void {
    if (this.#failed) return;
    this.#writeClosingComment(emit);
    if (this.#turn.usageWanted && this.#usage !== undefined) {
      const usage = writeUsage(this.#usage);
      emit(sseFrame(JSON.stringify({ ...this.#headFields(), choices: [], usage })));
    }
    emit(sseDone);
  }

  #writeClosingComment(emit: Emit<string>): void {
    const words = this.#context.closingComment?.() ?? "";
    if (words !== "") emit(words);
  }

  #writeText(event: Event<"text-delta">, emit: Emit<string>): void {
    const { choice, text, logprobs } = event;
    const { text: form } = this.#choice(choice, emit);
    if (logprobs === undefined) return this.#writePieces(form, event, emit);
    const more = { logprobs: { content: logprobs, refusal: null } };
    this.#writeDelta(emit, choice, { content: text }, more);
  }

  #writeReasoning(event: Event<"reasoning-delta">, emit: Emit<string>): void {
    const choice = this.#choice(event.choice, emit);
    const paragraph = `${event.of}${event.part}`;
    const isNext = choice.paragraph !== undefined && choice.paragraph !== paragraph;
    choice.paragraph = paragraph;
    this.#writePieces(choice.reasoning, isNext ? asNextParagraph(event) : event, emit);
  }

  #endReasoning(event: Event<"reasoning-end">, emit: Emit<string>): void {
    const choice = this.#choice(event.choice, emit);
    const fields = choice.signed ? {} : signatureOf(event);
    choice.paragraph = undefined;
    choice.signed = false;
    if (Object.keys(fields).length > 0) this.#writeDelta(emit, event.choice, fields);
    if (event.encrypted !== undefined && event.details === undefined)
      this.#lose("sealed reasoning", event.choice);
  }

  #writeVendorExtra({ choice: index, of, extra }: Event<"vendor-extra">, emit: Emit<string>): void {
    const fields = ownExtra(extra, "chat");
    if (of === "choice" || of === "answer") return this.#putBeside(of, index, fields);
    const choice = this.#choice(index, emit);
    if (of === "reasoning") choice.signed = true;
    if (Object.keys(fields).length > 0) this.#writeDelta(emit, index, fields);
  }

  #writeNote(event: Event<"text-note">, emit: Emit<string>): void {
    this.#choice(event.choice, emit);
    const annotation = writeChatAnnotation(event.annotation);
    if (annotation !== undefined)
      this.#writeDelta(emit, event.choice, { annotations: [annotation] });
  }

  #writeItem({ choice, raw }: Event<"item-end">, emit: Emit<string>): void {
    const image = writeHosted(raw, choice, this.#context);
    if (image === undefined) return;
    this.#choice(choice, emit);
    this.#writeDelta(emit, choice, { images: [image] });
  }

  #writeCall(event: Event<"call-start">, emit: Emit<string>): void {
    const { calls } = this.#choice(event.choice, emit, null);
    const form = callForm(calls.size, event, this.#legacy);
    this.#writeDelta(emit, event.choice, form.open);
    calls.set(event.call, { choice: event.choice, delta: form.more });
  }

  #writeEnd({ choice, stop }: Event<"turn-end">, emit: Emit<string>): void {
    const { calls } = this.#choice(choice, emit);
    losePause({ choice, stop }, this.#lose);
    const finish = writeFinish(stop, this.#legacy && calls.size > 0);
    this.#writeDelta(emit, choice, {}, { finish_reason: finish });
  }

  /** The role comes once, before all else. */
  #choice(index: number, emit: Emit<string>, content: "" | null = ""): Choice {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const choice: Choice = {
      text: { choice: index, delta: { content: HOLE } },
      reasoning: { choice: index, delta: { reasoning_content: HOLE } },
      calls: new Map(),
      paragraph: undefined,
      signed: false,
    };
    this.#choices.set(index, choice);
    this.#writeDelta(emit, index, { role: "assistant", content, refusal: null });
    return choice;
  }

  #writeDelta(emit: Emit<string>, index: number, delta: Fields, more?: Fields): void {
    const extra = this.#pendingExtra.get(index);
    this.#pendingExtra.delete(index);
    const answer = this.#answerExtra;
    this.#answerExtra = undefined;
    if (emit !== discard) emit(this.#chunk(index, delta, { ...extra, ...more }, answer));
  }

  /** It goes with the next chunk that is not only a piece of text. */
  #putBeside(of: "choice" | "answer", index: number, fields: Fields): void {
    if (of === "answer") this.#answerExtra = { ...this.#answerExtra, ...fields };
    else this.#pendingExtra.set(index, { ...this.#pendingExtra.get(index), ...fields });
  }

  #writePieces(form: DeltaForm, pieces: Pieces, emit: Emit<string>): void {
    if (emit === discard) return;
    form.around ??= this.#chunk(form.choice, form.delta).split(`"${HOLE}"`);
    const [head = "", tail = ""] = form.around;
    emit(`${head}"${literalsOf(pieces).join(`"${tail}${head}"`)}"${tail}`);
  }

  #chunk(index: number, delta: Fields, more: Fields = {}, answer: Fields = {}): string {
    const choice = { index, delta, logprobs: null, finish_reason: null, ...more };
    const counts = this.#turn.usageWanted ? { usage: null } : {};
    const head = this.#headFields();
    return sseFrame(JSON.stringify({ ...answer, ...head, choices: [choice], ...counts }));
  }

  #headFields(): Fields {
    return (this.#head ??= {
      ...answerHead(this.#start, this.#turn, this.#context),
      object: "chat.completion.chunk",
    });
  }
}

/** The first delta of a call, and the form of those that carry a piece of its input. */
function callForm(
  index: number,
  { id, kind, name, namespace, extra }: Event<"call-start">,
  legacy: boolean,
): { open: Fields; more: Fields } {
  if (legacy && index === 0)
    return {
      open: { function_call: { name, arguments: "" } },
      more: { function_call: { arguments: HOLE } },
    };
  // Chat has two kinds; a call of another is one of a function by that name.
  const [type, key] = kind === "custom" ? ["custom", "input"] : ["function", "arguments"];
  const called = { name, ...given({ namespace }), [key]: "" };
  return {
    open: { tool_calls: [{ ...ownExtra(extra, "chat"), index, id, type, [type]: called }] },
    more: { tool_calls: [{ index, [type]: { [key]: HOLE } }] },
  };
}

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
function answerHead(
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
const signatureOf = ({ details, extra }: Pick<Reasoning, "details" | "extra">): Fields => ({
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
