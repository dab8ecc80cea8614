/** Writes answers for Gemini clients, streamed and whole, as the strictest readers require. */

import type { Answer, AnswerChoice } from "../../stream/fold.ts";
import type { Emit } from "../../stream/stage.ts";
import { discard, type EventWriter } from "../../stream/straight.ts";
import type { ReasoningDelta, TextDelta, TurnEvent, TurnStart, Usage } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Fields, Item, Turn } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import { asNextParagraph, literalsOf, type Pieces } from "../shared/frame-runs.ts";
import { lossReporter } from "../shared/losses.ts";
import { writeUsage } from "./write-fields.ts";
import { breaksLines, Candidate, contentOf, lineOf, membersOf, onOneLine } from "./candidate.ts";
import { errorBody } from "./error-body.ts";

/** The forms of a stream: SSE, or one JSON list that is sent piece by piece. */
type Form = {
  readonly first: string;
  readonly next: string;
  readonly after: string;
  readonly last: string;
};

const sse: Form = { first: "data: ", next: "data: ", after: "\r\n\r\n", last: "" };
const list: Form = { first: "[", next: ",\r\n", after: "\n", last: "]" };

/** The content type of a stream. */
export const contentType = ({ streamForm }: Pick<Turn, "streamForm">): string =>
  streamForm === "array" ? "application/json; charset=utf-8" : "text/event-stream; charset=utf-8";

/** The start of a chunk, up to the text of its only part. */
const TEXT = '{"candidates":[{"content":{"parts":[{"text":"';
const END_OF_TEXT = '"}],"role":"model"},"index":';
const END_OF_THOUGHT = '","thought":true}],"role":"model"},"index":';

export const writeEvents = (turn: Turn, context: WriteContext): EventWriter<ClientName> =>
  new GeminiWriter(turn, context);

class GeminiWriter implements EventWriter<ClientName> {
  readonly #turn: Turn;
  readonly #context: WriteContext;
  readonly #form: Form;
  readonly #showsThoughts: boolean;
  readonly #reporter: ReturnType<typeof reporterOf>;
  readonly #choices: (Candidate | undefined)[] = [];
  #start: TurnStart = { type: "turn-start" };
  /** The members of every chunk after its candidates, and the end of the chunk. */
  #tail: string | undefined;
  #usage: Usage | undefined;
  /** Members of the last chunk. */
  #extra: Fields | undefined;
  #hasBegun = false;
  #isOver = false;

  constructor(turn: Turn, context: WriteContext) {
    this.#turn = turn;
    this.#context = context;
    this.#form = turn.streamForm === "array" ? list : sse;
    this.#showsThoughts = showsThoughts(turn);
    this.#reporter = reporterOf(context);
  }

  each(event: TurnEvent<ClientName>, emit: Emit<string>): void {
    switch (event.type) {
      case "turn-start":
        this.#start = event;
        if (event.dialect === "gemini") this.#extra = event.extra;
        return;
      case "usage":
        this.#usage = event.usage;
        return;
      case "turn-fail":
        this.#isOver = true;
        return this.#write(lineOf(errorBody(event.fault)), emit);
      case "frame":
        return;
      case "text-delta":
        return this.#say(event, emit);
      case "reasoning-delta":
        return this.#think(event, emit);
      default:
    }
    const choice = this.#choice(event.choice);
    switch (event.type) {
      case "refusal-delta":
        choice.refuse(event.text);
        return choice.isHolding ? undefined : this.#pieces(choice, event, false, emit);
      case "text-start":
      case "text-break":
        return choice.grounding.beginPart();
      case "text-note":
        return choice.cite(event.annotation);
      case "reasoning-end":
        if (event.details !== undefined) this.#reporter.lose("details of reasoning", event.choice);
        return this.#part(choice, choice.sign(event, this.#showsThoughts), emit);
      case "call-start":
        return void choice.beginCall(event.call, event);
      case "call-delta": {
        const call = choice.call(event.call);
        if (call !== undefined) call.input += event.text;
        return;
      }
      case "call-end": {
        const call = choice.call(event.call);
        if (call !== undefined) call.isWhole = event.complete;
        return;
      }
      case "item-end":
        return this.#part(choice, choice.item(event.dialect, event.raw), emit);
      case "vendor-extra":
        if (event.of !== "answer") return choice.addExtra(event.extra, event.of === "choice");
        if (event.extra.dialect === "gemini")
          this.#extra = { ...this.#extra, ...event.extra.fields };
        return;
      case "turn-end":
        return choice.finish(event.stop, event.extra);
      // Their content is written, or this dialect has no form for it.
      case "text-end":
      case "reasoning-start":
      case "item-start":
      case "item-note":
        return;
      default:
        event satisfies never;
    }
  }

  /** Clients forget an answer whose last chunk has no parts, so the ends and the counts are one chunk. */
  end(emit: Emit<string>): void {
    const ended = this.#choices.filter((choice) => choice?.ending !== undefined);
    if (this.#isOver || ended.length === 0) return;
    this.#write(lastChunk(ended, this.#members(), this.#extra, this.#usage), emit);
    if (emit !== discard) emit(this.#form.last);
  }

  #choice(index: number): Candidate {
    return (this.#choices[index] ??= new Candidate(index, false, this.#reporter));
  }

  #say(event: TextDelta, emit: Emit<string>): void {
    const choice = this.#choice(event.choice);
    const { text, logprobs } = event;
    choice.say(text);
    if (logprobs === undefined)
      return choice.isHolding ? undefined : this.#pieces(choice, event, false, emit);
    const more = choice.weigh(logprobs);
    if (!choice.isHolding) this.#part(choice, lineOf({ text }), emit, more);
  }

  #think(event: ReasoningDelta, emit: Emit<string>): void {
    if (!this.#showsThoughts) return;
    const choice = this.#choice(event.choice);
    const isNext = choice.isNextParagraph(event.of, event.part);
    const pieces = isNext ? asNextParagraph(event) : event;
    if (choice.isHolding) choice.think(pieces.text);
    else this.#pieces(choice, pieces, true, emit);
  }

  /** Writes a chunk for each piece of a text. */
  #pieces(choice: Candidate, pieces: Pieces, isThought: boolean, emit: Emit<string>): void {
    if (emit === discard) return;
    const { first, next } = this.#form;
    const tail = isThought
      ? (choice.thoughtTail ??= this.#tailOf(choice, END_OF_THOUGHT))
      : (choice.textTail ??= this.#tailOf(choice, END_OF_TEXT));
    const isClean = !breaksLines.test(pieces.text);
    let frames = "";
    for (const literal of literalsOf(pieces)) {
      frames += this.#hasBegun ? next : first;
      this.#hasBegun = true;
      frames += TEXT + (isClean ? literal : onOneLine(literal)) + tail;
    }
    emit(frames);
  }

  #tailOf({ index }: Candidate, end: string): string {
    return `${end}${index}}]${this.#members()}}${this.#form.after}`;
  }

  #part(choice: Candidate, part: string | undefined, emit: Emit<string>, more = ""): void {
    if (part === undefined) return;
    const candidate = `${contentOf(part)},"index":${choice.index}${more}}`;
    this.#write(`{"candidates":[${candidate}]${this.#members()}}`, emit);
  }

  #write(json: string, emit: Emit<string>): void {
    if (emit === discard) return;
    const { first, next, after } = this.#form;
    emit(`${this.#hasBegun ? next : first}${json}${after}`);
    this.#hasBegun = true;
  }

  #members(): string {
    return (this.#tail ??= membersOf(answerHead(this.#start, this.#turn, this.#context)));
  }
}

/** Writes a whole answer: the parts of a stream's chunks, with neighbouring text joined. */
export function writeAnswer(answer: Answer<ClientName>, turn: Turn, context: WriteContext): string {
  const reporter = reporterOf(context);
  const isShown = showsThoughts(turn);
  const choices = answer.choices.length > 0 ? answer.choices : [none];
  const ended = choices.map((choice) => followChoice(choice, isShown, reporter));
  const own = answer.dialect === "gemini" ? answer.extra : undefined;
  const head = membersOf(answerHead(answer, turn, context));
  return lastChunk(ended, head, own, answer.usage);
}

const none: AnswerChoice<ClientName> = { index: 0, items: [], stop: "end" };

function followChoice(
  choice: AnswerChoice<ClientName>,
  isShown: boolean,
  reporter: ReturnType<typeof reporterOf>,
): Candidate {
  const candidate = new Candidate(choice.index, true, reporter);
  for (const [number, item] of choice.items.entries()) addItem(candidate, number, item, isShown);
  for (const extra of choice.vendorExtras ?? []) candidate.addExtra(extra, false);
  if (choice.choiceExtra !== undefined) candidate.addExtra(choice.choiceExtra, true);
  candidate.finish(choice.stop, choice.ending);
  return candidate;
}

function addItem(candidate: Candidate, number: number, item: Item, isShown: boolean): void {
  switch (item.type) {
    case "message":
      for (const part of item.parts) {
        if (part.type === "refusal") candidate.refuse(part.text);
        if (part.type !== "text") continue;
        candidate.grounding.beginPart();
        candidate.say(part.text);
        if (part.logprobs !== undefined) candidate.weigh(part.logprobs);
        for (const one of part.annotations ?? []) candidate.cite(one);
      }
      return;
    case "reasoning": {
      const thoughts = [...item.content, ...item.summary].filter((one) => one !== "");
      if (isShown && thoughts.length > 0) candidate.think(thoughts.join("\n\n"));
      return void candidate.sign(item, isShown);
    }
    case "call": {
      const call = candidate.beginCall(number, item);
      call.input = item.input;
      call.isWhole = item.status !== "incomplete";
      return;
    }
    case "opaque":
      return void candidate.item(item.dialect, item.raw);
    case "result":
      return;
    default:
      item satisfies never;
  }
}

/** True if the client asked for thoughts. */
const showsThoughts = ({ params: { reasoningSummary: asked } }: Turn): boolean =>
  asked !== undefined && asked !== "none";

/** The fields of every chunk. Ids of another dialect are not shown. */
function answerHead(
  start: Pick<Answer<ClientName>, "dialect" | "id" | "model">,
  turn: Turn,
  context: WriteContext,
): Fields {
  const own = start.dialect === "gemini" ? start.id : undefined;
  return { modelVersion: start.model ?? turn.model, responseId: own ?? context.id };
}

/** The last chunk of a stream, or a whole answer. `head`: the members that every chunk has. */
function lastChunk(
  ended: readonly (Candidate | undefined)[],
  head: string,
  extra: Fields | undefined,
  usage: Usage | undefined,
): string {
  const candidates = ended.map((choice) => `${choice?.ending}}`).join(",");
  const promptFeedback = ended.find((choice) => choice?.promptFeedback)?.promptFeedback;
  const usageMetadata = usage && writeUsage(usage);
  const more = membersOf({ ...extra, promptFeedback, usageMetadata });
  return `{"candidates":[${candidates}]${more}${head}}`;
}

const reporterOf = ({ report }: WriteContext) => ({
  lose: lossReporter("gemini", report),
  explain: (why: string, choice: number): void =>
    report?.({
      path: `output.choices[${choice}]`,
      action: "repaired",
      reason: `the provider stopped the answer before its first word: ${why}`,
    }),
});
