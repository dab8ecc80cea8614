import { sseDone } from "../../stream/sse.ts";
import type { Emit } from "../../stream/stage.ts";
import { discard, type EventWriter } from "../../stream/straight.ts";
import type { CallStart, TurnEvent, TurnStart, Usage } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Fields, Reasoning, Turn } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import { faultBody } from "../errors/fault-body.ts";
import { literalsOf, type Pieces } from "../shared/frame-runs.ts";
import { lossReporter, losePause, type OnLoss } from "../shared/losses.ts";
import { noteTypes } from "./event-types.ts";
import { writeAnnotation, writeLogprobs } from "./content-parts.ts";
import { callText, messageText, outputItemText } from "./items.ts";
import { type CallKind, canRun, kindOf } from "./kinds.ts";
import {
  failedStatus,
  loseExtra,
  loseItem,
  loseSignature,
  ResponseObject,
  statusOf,
  type Progress,
} from "./resource.ts";

type Event<Type extends TurnEvent<ClientName>["type"]> = Extract<
  TurnEvent<ClientName>,
  { readonly type: Type }
>;

/** The text of an event. Its number is the last field. */
export const frameText = (type: string, fields: string, sequence: number): string =>
  `event: ${type}\ndata: {"type":"${type}",${fields},"sequence_number":${sequence}}\n\n`;

/** The place of an item in the answer; `fields`: id and index as the fields of an event. */
type Place = { readonly id: string; readonly index: number; readonly fields: string };

/** A part of a message that still grows. */
type OpenPart = {
  readonly type: "output_text" | "refusal";
  text: string;
  readonly annotations: Fields[];
  readonly logprobs: unknown[];
  /** True if it was announced: an annotation without a form here begins a part without a frame. */
  isShown: boolean;
};

type OpenMessage = {
  readonly place: Place;
  readonly phase: string | undefined;
  /** Closed parts as JSON text. */
  readonly parts: string[];
  part: OpenPart | undefined;
  /** True if the next text begins a part of its own. */
  isFresh: boolean;
  /** Fields of events about the open part, and the text of its deltas up to the delta. */
  where: string;
  head: string;
};

/** The events and fields of the two sides of reasoning. */
const sides = {
  summary: {
    index: "summary_index",
    part: "response.reasoning_summary_part",
    text: "response.reasoning_summary_text",
    type: "summary_text",
  },
  content: {
    index: "content_index",
    part: "response.content_part",
    text: "response.reasoning_text",
    type: "reasoning_text",
  },
} as const;
type Side = keyof typeof sides;

type OpenReasoning = {
  readonly place: Place;
  readonly summary: string[];
  readonly content: string[];
};

/** A call that still grows. One whose input has no events of its own has no place before its end. */
type OpenCall = {
  readonly start: CallStart<ClientName>;
  readonly kind: CallKind;
  readonly place: Place | undefined;
  readonly head: string;
  input: string;
};

const NUMBER = ',"sequence_number":';
const TEXT_TAIL = `,"logprobs":[]${NUMBER}`;

/**
 * Writes a stream for the strictest reader: every item announced before its
 * deltas and closed before the end, except calls that were cut off and must
 * not be run; one terminal event, which contains exactly the items that were closed.
 * The API has one choice; of several the first is shown.
 */
export const writeEvents = (turn: Turn, context: WriteContext): EventWriter<ClientName> =>
  new ResponsesWriter(turn, context);

class ResponsesWriter implements EventWriter<ClientName> {
  readonly #turn: Turn;
  readonly #context: WriteContext;
  readonly #lose: OnLoss;
  #out: Emit<string> = discard;
  #sequence = 0;
  /** The choice that is shown. Some upstreams number their only choice otherwise than from 0. */
  #choice: number | undefined;
  #response: ResponseObject | undefined;
  #usage: Usage | undefined;
  #isOver = false;
  readonly #ids = new Set<string>();
  /** Closed items as JSON text, by their indexes. */
  readonly #closed: (string | undefined)[] = [];
  #items = 0;
  #message: OpenMessage | undefined;
  #reasoning: OpenReasoning | undefined;
  readonly #calls = new Map<number, OpenCall>();
  /** Items that the upstream works on itself. */
  readonly #hosted = new Map<number, { readonly place: Place; readonly raw: Fields }>();

  constructor(turn: Turn, context: WriteContext) {
    this.#turn = turn;
    this.#context = context;
    this.#lose = lossReporter("responses", context.report);
  }

  each(event: TurnEvent<ClientName>, emit: Emit<string>): void {
    if ("choice" in event && event.choice !== (this.#choice ??= event.choice)) return;
    this.#out = emit;
    switch (event.type) {
      case "text-delta":
        return this.#sayText(event);
      case "call-delta": {
        const call = this.#calls.get(event.call);
        if (call === undefined) return;
        call.input += event.text;
        return call.place === undefined ? undefined : this.#deltas(call.head, event, NUMBER);
      }
      case "reasoning-delta":
        return this.#think(event);
      case "turn-start": {
        const { dialect = "responses", extra: fields } = event;
        if (fields !== undefined) loseExtra({ dialect, fields }, 0, this.#lose);
        this.#begin(event);
        return;
      }
      case "text-start":
        return this.#openMessage(event);
      case "text-break": // The next text shows it.
        if (this.#message !== undefined) this.#message.isFresh = true;
        return;
      case "text-note":
        return this.#note(event.annotation);
      case "text-end":
        return this.#endMessage(event);
      case "refusal-delta":
        return this.#refuse(event);
      case "reasoning-start":
        return this.#openReasoning(event);
      case "reasoning-end":
        return this.#endReasoning(event);
      case "call-start":
        return this.#openCall(event);
      case "call-end":
        return this.#endCall(event);
      case "item-start":
      case "item-note":
      case "item-end":
        return event.dialect === "responses"
          ? this.#showHosted(event)
          : loseItem(event, this.#lose);
      case "vendor-extra":
        return event.of === "reasoning"
          ? undefined
          : loseExtra(event.extra, event.choice, this.#lose);
      case "usage":
        this.#usage = event.usage;
        return;
      case "turn-end": {
        losePause(event, this.#lose);
        const { stop } = event;
        const status = statusOf(stop);
        const completedAt = status === "completed" ? this.#context.now() : undefined;
        return this.#finish({ status, stop, completedAt });
      }
      case "turn-fail":
        return this.#finish({ status: failedStatus(event.fault), fault: event.fault });
      case "frame":
        return;
      default:
        event satisfies never;
    }
  }

  end(emit: Emit<string>): void {
    if (this.#isOver) emit((this.#context.closingComment?.() ?? "") + sseDone);
  }

  resumeAt(sequence: number): void {
    this.#sequence = sequence;
  }

  #frame(type: string, fields: string): void {
    const sequence = this.#sequence++;
    if (this.#out !== discard) this.#out(frameText(type, fields, sequence));
  }

  /** Writes a frame for each piece of a text. */
  #deltas(head: string, pieces: Pieces, tail: string): void {
    const literals = literalsOf(pieces);
    let sequence = this.#sequence;
    this.#sequence += literals.length;
    if (this.#out === discard) return;
    let frames = "";
    for (const literal of literals) frames += `${head}"${literal}"${tail}${sequence++}}\n\n`;
    this.#out(frames);
  }

  /** The first and the last events: those about the response as a whole. */
  #begin(event: TurnStart): ResponseObject {
    const response = (this.#response = new ResponseObject(this.#turn, event, this.#context));
    const fields = `"response":${response.shown({ status: "in_progress" })}`;
    this.#frame("response.created", fields);
    this.#frame("response.in_progress", fields);
    return response;
  }

  #finish(progress: Progress): void {
    for (const [item, { raw }] of this.#hosted) this.#endHosted(item, raw);
    const output = this.#closed.filter((item) => item !== undefined);
    const last: Progress = { ...progress, output, usage: this.#usage };
    // A turn may fail before its upstream sends anything.
    const response = this.#response ?? this.#begin({ type: "turn-start" });
    if (last.fault !== undefined) {
      // The API has the fields side by side, the open schema in an object.
      const { error } = faultBody(last.fault);
      const { code, message, param } = error;
      this.#frame("error", JSON.stringify({ code, message, param, error }).slice(1, -1));
    }
    const name = last.status === "cancelled" ? "failed" : last.status;
    this.#frame(`response.${name}`, `"response":${response.shown(last)}`);
    this.#isOver = true;
    response.record(last);
  }

  /** Announces an item. An id that another item has already is not used again. */
  #add(given: string | undefined, prefix: string, item: (id: string) => string): Place {
    const id = given === undefined || this.#ids.has(given) ? this.#context.newId(prefix) : given;
    this.#ids.add(id);
    const index = this.#items++;
    this.#frame("response.output_item.added", `"output_index":${index},"item":${item(id)}`);
    return { id, index, fields: `"item_id":${JSON.stringify(id)},"output_index":${index}` };
  }

  /** Closes an item; the last event and the store contain the same text of it. */
  #done({ id, index }: Place, item: string): void {
    this.#closed[index] = item;
    this.#context.keep?.(id, item);
    this.#frame("response.output_item.done", `"output_index":${index},"item":${item}`);
  }

  #openMessage({ id, phase }: Event<"text-start">): void {
    const place = this.#add(id, "msg", (id) =>
      messageText({ status: "in_progress", phase }, id, ""),
    );
    this.#message = {
      place,
      phase,
      parts: [],
      part: undefined,
      isFresh: true,
      where: "",
      head: "",
    };
  }

  #sayText(event: Event<"text-delta">): void {
    const message = this.#message;
    if (message === undefined) return;
    const part = this.#textPart(message);
    if (!part.isShown) this.#showPart(message, part);
    part.text += event.text;
    if (event.logprobs === undefined) return this.#deltas(message.head, event, TEXT_TAIL);
    const logprobs = writeLogprobs(event.logprobs);
    for (const one of logprobs) part.logprobs.push(one);
    this.#deltas(message.head, event, `,"logprobs":${JSON.stringify(logprobs)}${NUMBER}`);
  }

  #refuse(event: Event<"refusal-delta">): void {
    const message = this.#message;
    if (message === undefined) return;
    const { part: last } = message;
    const part = last?.type === "refusal" ? last : this.#newPart(message, "refusal");
    if (!part.isShown) this.#showPart(message, part);
    part.text += event.text;
    this.#deltas(message.head, event, NUMBER);
  }

  #note(raw: unknown): void {
    const message = this.#message;
    if (message === undefined) return;
    const part = this.#textPart(message);
    const annotation = writeAnnotation(raw);
    if (annotation === undefined) return;
    if (!part.isShown) this.#showPart(message, part);
    const index = part.annotations.push(annotation) - 1;
    const fields = `"annotation_index":${index},"annotation":${JSON.stringify(annotation)}`;
    this.#frame("response.output_text.annotation.added", `${message.where},${fields}`);
  }

  #textPart(message: OpenMessage): OpenPart {
    const { part } = message;
    if (!message.isFresh && part?.type === "output_text") return part;
    message.isFresh = false;
    return this.#newPart(message, "output_text");
  }

  #newPart(message: OpenMessage, type: OpenPart["type"]): OpenPart {
    this.#closePart(message);
    return (message.part = { type, text: "", annotations: [], logprobs: [], isShown: false });
  }

  #showPart(message: OpenMessage, part: OpenPart): void {
    part.isShown = true;
    const { type } = part;
    const where = `${message.place.fields},"content_index":${message.parts.length}`;
    message.where = where;
    message.head = `event: response.${type}.delta\ndata: {"type":"response.${type}.delta",${where},"delta":`;
    const blank =
      type === "refusal"
        ? '{"type":"refusal","refusal":""}'
        : '{"type":"output_text","text":"","annotations":[],"logprobs":[]}';
    this.#frame("response.content_part.added", `${where},"part":${blank}`);
  }

  #closePart(message: OpenMessage): void {
    const { part } = message;
    if (part === undefined) return;
    if (!part.isShown) this.#showPart(message, part);
    const { where } = message;
    const text = JSON.stringify(part.text);
    let whole = `{"type":"refusal","refusal":${text}}`;
    if (part.type === "refusal") this.#frame("response.refusal.done", `${where},"refusal":${text}`);
    else {
      const logprobs = part.logprobs.length === 0 ? "[]" : JSON.stringify(part.logprobs);
      const notes = part.annotations.length === 0 ? "[]" : JSON.stringify(part.annotations);
      whole = `{"type":"output_text","text":${text},"annotations":${notes},"logprobs":${logprobs}}`;
      this.#frame("response.output_text.done", `${where},"text":${text},"logprobs":${logprobs}`);
    }
    this.#frame("response.content_part.done", `${where},"part":${whole}`);
    message.parts.push(whole);
    message.part = undefined;
  }

  #endMessage({ complete, extra }: Event<"text-end">): void {
    const message = this.#message;
    if (message === undefined) return;
    this.#closePart(message);
    this.#message = undefined;
    const { place, parts, phase } = message;
    const status = complete === false ? "incomplete" : "completed";
    this.#done(place, messageText({ status, phase, extra }, place.id, parts.join(",")));
  }

  #openReasoning({ id }: Event<"reasoning-start">): void {
    const place = this.#add(
      id,
      "rs",
      (id) => `{"type":"reasoning","id":${JSON.stringify(id)},"summary":[]}`,
    );
    this.#reasoning = { place, summary: [], content: [] };
  }

  #think(event: Event<"reasoning-delta">): void {
    const open = this.#reasoning;
    if (open === undefined) return;
    const { of, part } = event;
    const paragraphs = open[of];
    while (paragraphs.length <= part) {
      this.#closeParagraph(open, of);
      paragraphs.push("");
      const { type, part: name } = sides[of];
      const where = whereOf(open, of, paragraphs.length - 1);
      this.#frame(`${name}.added`, `${where},"part":{"type":"${type}","text":""}`);
    }
    paragraphs[part] += event.text;
    const type = `${sides[of].text}.delta`;
    const head = `event: ${type}\ndata: {"type":"${type}",${whereOf(open, of, part)},"delta":`;
    this.#deltas(head, event, NUMBER);
  }

  #closeParagraph(open: OpenReasoning, of: Side): void {
    const last = open[of].at(-1);
    if (last === undefined) return;
    const { type, part, text: name } = sides[of];
    const where = whereOf(open, of, open[of].length - 1);
    const text = JSON.stringify(last);
    this.#frame(`${name}.done`, `${where},"text":${text}`);
    this.#frame(`${part}.done`, `${where},"part":{"type":"${type}","text":${text}}`);
  }

  #endReasoning({ encrypted, details, complete, extra }: Event<"reasoning-end">): void {
    const open = this.#reasoning;
    if (open === undefined) return;
    const { place, summary, content } = open;
    const status = complete === false ? "incomplete" : "completed";
    const item: Reasoning = {
      type: "reasoning",
      summary,
      content,
      encrypted,
      details,
      status,
      extra,
    };
    loseSignature(item, this.#lose);
    this.#closeParagraph(open, "summary");
    this.#closeParagraph(open, "content");
    this.#reasoning = undefined;
    this.#done(place, outputItemText(item, place.id) ?? "");
  }

  #openCall(start: CallStart<ClientName>): void {
    const kind = kindOf(start.kind);
    let place: Place | undefined;
    let head = "";
    if (kind.events !== undefined) {
      const blank = { ...start, input: "", status: "in_progress" } as const;
      place = this.#add(start.itemId, kind.prefix, (id) => callText(blank, id));
      const type = `${kind.events}.delta`;
      head = `event: ${type}\ndata: {"type":"${type}",${place.fields},"delta":`;
    }
    this.#calls.set(start.call, { start, kind, place, head, input: "" });
  }

  /**
   * Closes a call, unless it was cut off and some clients would run it. A call without events of its
   * own contains a value, which is only one when it is whole: it is announced and closed at once.
   */
  #endCall({ call: number, complete }: Event<"call-end">): void {
    const call = this.#calls.get(number);
    if (call === undefined) return;
    const { start, kind, input } = call;
    let { place } = call;
    if (!complete && canRun(kind, input)) return;
    const made = { ...start, input, status: complete ? "completed" : "incomplete" } as const;
    if (place === undefined) {
      const begun = { ...made, status: "in_progress" } as const;
      place = this.#add(start.itemId, kind.prefix, (id) => callText(begun, id));
      return this.#done(place, callText(made, place.id));
    }
    const text = JSON.stringify(input);
    const named = kind.kind === "custom" ? "" : `"name":${JSON.stringify(start.name)},`;
    this.#frame(`${kind.events}.done`, `${place.fields},${named}"${kind.input}":${text}`);
    this.#done(place, callText(made, place.id, text));
  }

  #showHosted({ type, item, raw }: Event<"item-start" | "item-note" | "item-end">): void {
    if (type === "item-end") return this.#endHosted(item, raw);
    if (type === "item-start") {
      const given = typeof raw.id === "string" && raw.id !== "" ? raw.id : undefined;
      const place = this.#add(given, "item", (id) => JSON.stringify({ ...raw, id }));
      this.#hosted.set(item, { place, raw });
      return;
    }
    const found = this.#hosted.get(item);
    if (found === undefined || typeof raw.type !== "string") return;
    const kind = String(found.raw.type);
    // An event that the API does not have would make its readers fail.
    if (!Object.hasOwn(noteTypes, kind) || noteTypes[kind]?.includes(raw.type) !== true) return;
    const { type: name, sequence_number: _, ...fields } = raw;
    const { id, index } = found.place;
    const place = { ...("item_id" in fields && { item_id: id }), output_index: index };
    this.#frame(name, JSON.stringify({ ...fields, ...place }).slice(1, -1));
  }

  #endHosted(item: number, raw: Fields): void {
    const found = this.#hosted.get(item);
    if (found === undefined) return;
    this.#hosted.delete(item);
    this.#done(found.place, JSON.stringify({ ...raw, id: found.place.id }));
  }
}

const whereOf = ({ place }: OpenReasoning, of: Side, part: number): string =>
  `${place.fields},"${sides[of].index}":${part}`;
