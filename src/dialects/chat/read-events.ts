import type { Emit } from "../../stream/stage.ts";
import type { Frame, TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import type { EventReader, ReadContext } from "../dialect.ts";
import { fieldsIn, fieldsOf, listOf, numberOf, textOf } from "../loose.ts";
import { bareError, saidError, strayError } from "../said-error.ts";
import { malformed } from "../unreadable.ts";
import { readLink } from "./citations.ts";
import { fit, learn, type Template } from "./fast-road.ts";
import { frameLane, type FrameLane } from "./frame-lane.ts";
import { ChoiceReader, type Spoken } from "./read-choice.ts";
import { readUsage } from "./usage.ts";

type Event = TurnEvent<UpstreamName>;

/** Far more than anybody asks for; an index beyond is not an index. */
const MOST_CHOICES = 1024;
/** The fields of an answer that have a place in our events, or none worth keeping. */
const known = new Set(["id", "object", "created", "model", "choices", "usage", "obfuscation"]);

/**
 * Reads what a chat upstream answers. `fast` is there for the test that the
 * fast road and the parser say the same.
 */
export function readEvents({ newId, frames }: ReadContext, fast = true): EventReader {
  const choices = new Map<number, ChoiceReader>();
  const lane = frameLane(frames);
  const road = fastRoad(fast);
  const links = new Set<string>();
  let waitingLinks: string[] = [];
  let started = false;
  let id: string | undefined;
  let over = false;
  let out: Emit<Event>;

  const emit = (event: Event): void => {
    if (event.type === "turn-fail") over = true;
    out(event);
  };
  const fail = (fault: Fault): void => emit({ type: "turn-fail", fault });
  const choiceOf = (index: number): ChoiceReader => {
    let choice = choices.get(index);
    if (choice === undefined) choices.set(index, (choice = new ChoiceReader(index, newId)));
    return choice;
  };
  const all = (test: (choice: ChoiceReader) => boolean): boolean => {
    for (const choice of choices.values()) if (!test(choice)) return false;
    return choices.size > 0;
  };
  const some = (test: (choice: ChoiceReader) => boolean): boolean => {
    for (const choice of choices.values()) if (test(choice)) return true;
    return false;
  };

  const start = (raw: Fields): void => {
    if (started) return;
    started = true;
    id = textOf(raw.id);
    const extra = Object.fromEntries(Object.entries(raw).filter(([key]) => !known.has(key)));
    emit({
      type: "turn-start",
      dialect: "chat",
      id,
      model: textOf(raw.model),
      created: numberOf(raw.created),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    });
  };
  /** Whether the answer around the choices is as the OpenAI API would have sent it. */
  const isOwnHead = (raw: Fields, object: string): boolean =>
    raw.object === object &&
    id !== undefined &&
    raw.id === id &&
    typeof raw.created === "number" &&
    typeof raw.model === "string";

  const readChoices = (list: readonly unknown[], isWhole: boolean): boolean => {
    let regular = true;
    for (const [at, entry] of list.entries()) {
      const raw = fieldsOf(entry);
      if (raw === undefined || isBlank(raw)) {
        regular = false;
        continue;
      }
      const index = isIndex(raw.index) ? raw.index : at;
      if (index !== raw.index) regular = false;
      if (!choiceOf(index).each(raw, isWhole, emit)) regular = false;
    }
    return regular;
  };
  /** Links that stand beside the choices are about the text of the first, once there is any. */
  const readLinks = (raw: Fields): void => {
    for (const url of listOf(raw.citations) ?? []) {
      if (typeof url !== "string" || links.has(url)) continue;
      links.add(url);
      waitingLinks.push(url);
    }
    const first = choices.get(0);
    if (waitingLinks.length === 0 || first?.hasText() !== true) return;
    for (const url of waitingLinks) first.note(readLink(url), emit);
    waitingLinks = [];
  };
  const readCount = (raw: Fields): { counted: boolean; regular: boolean } => {
    const usage = readUsage(raw);
    if (usage !== undefined) emit({ type: "usage", usage });
    const counted = usage !== undefined;
    return { counted, regular: raw.usage == null ? !counted : counted };
  };

  const faultIn = (raw: Fields, list: readonly unknown[]): Fault | undefined => {
    const fault = saidError(raw) ?? (list.length === 0 ? strayError(raw) : undefined);
    if (fault !== undefined || started) return fault;
    // An answer that fails in its first choice has not begun.
    const first = fieldsOf(list[0]);
    return first && saidError(first);
  };
  const readChunk = (raw: Fields, data: string, name: string | undefined): void => {
    const list = listOf(raw.choices) ?? [];
    const fault = name === "error" ? bareError(raw) : faultIn(raw, list);
    if (fault !== undefined) return fail(fault);
    const isNoise = list.length === 0 && readUsage(raw) === undefined;
    if (!isNoise || textOf(raw.id) !== undefined) start(raw);
    const ownHead = isOwnHead(raw, "chat.completion.chunk");
    // No part of the answer: forwarding it could only confuse.
    if (isNoise && !ownHead) return;

    const before = all((choice) => choice.finished());
    const own = readChoices(list, false) && ownHead && Array.isArray(raw.choices);
    readLinks(raw);
    const count = readCount(raw);
    if (over) return;
    const after = all((choice) => choice.finished());
    const ends = !before && after ? "terminal" : undefined;
    // Some speak on after their end, or after they have counted.
    const hold = after || !some((choice) => choice.told()) || some((choice) => choice.waiting());
    const frame: Frame = {
      type: "frame",
      data,
      name,
      regular: own && count.regular,
      ends,
      usageOnly: list.length === 0 && count.counted ? true : undefined,
    };
    lane.each(frame, hold, emit);
    if (list.length !== 1 || hold || count.counted) return;
    const index = fieldsOf(list[0])?.index;
    road.learn(frame, raw, choices.get(isIndex(index) ? index : 0));
  };

  const readDone = (data: string): void => {
    const regular = all((choice) => choice.finished());
    for (const choice of choices.values()) choice.close(emit);
    if (!over) lane.each({ type: "frame", data, regular, ends: "done" }, false, emit);
    over = true;
  };

  return {
    frame(data, name, partial, to) {
      if (over) return;
      out = to;
      if (road.take(data, name, lane, to)) return;
      const trimmed = data.trim();
      if (trimmed === "") return;
      if (trimmed === "[DONE]") return readDone(trimmed);
      const raw = fieldsIn(data);
      if (raw !== undefined) return readChunk(raw, data, name);
      // A frame that the end of the connection cut short says nothing; that it was cut will show.
      if (partial) return;
      fail(
        name === "error"
          ? bareError({ message: trimmed })
          : malformed("sent a frame that is not a JSON object"),
      );
    },
    whole(text, to) {
      if (over) return;
      out = to;
      const raw = fieldsIn(text);
      if (raw === undefined) return fail(malformed("answered with something that is not JSON"));
      const fault = saidError(raw);
      if (fault !== undefined) return fail(fault);
      const list = listOf(raw.choices);
      if (list === undefined)
        return fail(strayError(raw) ?? malformed("answered without `choices`"));
      start(raw);
      const own = readChoices(list, true) && isOwnHead(raw, "chat.completion");
      readLinks(raw);
      const count = readCount(raw);
      const ended = all((choice) => choice.finished());
      for (const choice of choices.values()) choice.close(emit);
      const regular = own && ended && count.regular;
      if (frames && !over)
        emit({ type: "frame", data: text, regular, ends: "terminal", whole: true });
      over = true;
    },
    done: () => over,
  };
}

type FastRoad = {
  /** Takes a frame that needs no parsing. */
  take(data: string, name: string | undefined, lane: FrameLane, emit: Emit<Event>): boolean;
  learn(frame: Frame, raw: Fields, choice: ChoiceReader | undefined): void;
};

/** Keeps the template of the last parsed frame; any other parsed frame may have changed what it means. */
function fastRoad(fast: boolean): FastRoad {
  let template: Template | undefined;
  let choice: ChoiceReader | undefined;
  let spoken: Spoken | undefined;
  let regular = true;
  // Where frames never fit, templates are tried ever more seldom.
  let pause = 0;
  let rest = 0;

  return {
    take(data, name, lane, emit) {
      if (template === undefined || choice === undefined || spoken === undefined) return false;
      const text = name === undefined ? fit(template, data) : undefined;
      if (text === undefined || text === "") {
        template = undefined;
        return false;
      }
      pause = 0;
      rest = 0;
      choice.more(spoken, text, emit);
      lane.each({ type: "frame", data, regular }, false, emit);
      return true;
    },
    learn(frame, raw, from) {
      const said = fast ? from?.spoken() : undefined;
      if (said === undefined || rest-- > 0) return;
      rest = pause;
      pause = Math.min(pause * 2 + 1, 63);
      template = learn(frame.data, raw, said);
      choice = from;
      spoken = said;
      regular = frame.regular;
    },
  };
}

const isIndex = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value < MOST_CHOICES;

/** An entry that says nothing is no choice. */
const isBlank = ({ delta, message, text, error, finish_reason: finish }: Fields): boolean =>
  [delta, message, text, error, finish].every((said) => said === undefined || said === null);
