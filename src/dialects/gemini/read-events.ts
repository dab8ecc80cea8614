/** Reads the answers of Gemini upstreams, streamed and whole. */

import { exactJsonOf } from "../../json/exact.ts";
import { jsonOf } from "../../json/json.ts";
import type { Emit } from "../../stream/stage.ts";
import type { Decision } from "../../turn/decision.ts";
import type { TurnEvent, Usage } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import type { EventReader, ReadContext } from "../dialect.ts";
import { malformed, strayError, unreadableFault, upstreamError } from "../errors/upstream-error.ts";
import { FrameRuns } from "../shared/frame-runs.ts";
import { fieldsOf, filledText, given, listOf, numberOf } from "../shared/loose.ts";
import { CandidateReader } from "./read-candidate.ts";
import { readUsage } from "./read-counts.ts";
import { geminiExtra, listed } from "./wire.ts";

type Event = TurnEvent<UpstreamName>;

/** Fields of a chunk that have a place in our events. */
const known = new Set([
  "candidates",
  "promptFeedback",
  "usageMetadata",
  "modelVersion",
  "responseId",
  "createTime",
  "continuationToken",
  "sdkHttpResponse",
]);

/** Candidates beyond this number are not read. */
const MOST_CANDIDATES = 128;

class GeminiReader implements EventReader {
  readonly #context: ReadContext;
  readonly #runs = new FrameRuns();
  readonly #candidates = new Map<number, CandidateReader>();
  #emit: Emit<Event> = () => {};
  /** The start is emitted with the first event of content: until then, a worthless answer can be asked for again. */
  #start: Event | undefined;
  #hasBegun = false;
  #usage: Usage | undefined;
  /** The last frame of a run: its counts replace the usage when that is needed. */
  #counted: string | undefined;
  /** The verdict on a prompt that was blocked. */
  #feedback: Fields | undefined;
  #hasRead = false;
  #isOdd = false;
  #isOver = false;

  constructor(context: ReadContext) {
    this.#context = context;
  }

  frame(data: string, name: string | undefined, partial: boolean, emit: Emit<Event>): void {
    // A relay may write a comment, or the sentinel of another dialect, as data.
    if (this.#isOver || data.trim() === "" || /^\s*(?::|\[DONE\])/.test(data)) return;
    this.#emit = emit;
    this.#runs.begin();
    const value = parsed(data);
    if (value === undefined) {
      const fault = partial ? undefined : unreadableFault(data, name);
      if (fault !== undefined) this.#fail(fault);
      return;
    }
    const error = name === "error" ? (fieldsOf(listed(value)[0]) ?? {}) : undefined;
    if (error !== undefined && error.error === undefined)
      return this.#fail(strayError(error, true) ?? malformed(NO_ANSWER));
    this.#readAll(value);
    this.#learn(data, name, value);
  }

  run(text: string, at: number, emit: Emit<Event>): number {
    const { repeated } = this.#runs;
    const run = repeated === undefined || this.#isOver ? undefined : this.#runs.take(text, at);
    if (repeated === undefined || run === undefined) return at;
    this.#emit = emit;
    const { usageMetadata, ...raw } = repeated.raw;
    this.#read(raw);
    if (usageMetadata === undefined) return run.end;
    const last = Math.max(at, text.lastIndexOf("\n\n", run.end - 3));
    this.#counted = text.slice(text.indexOf("{", last), run.end);
    return run.end;
  }

  #learn(data: string, name: string | undefined, value: unknown): void {
    const text = this.#runs.onlyDelta()?.text;
    const raw = text === undefined ? undefined : fieldsOf(value);
    const [candidate] = listOf(raw?.candidates) ?? [];
    const [part] = listOf(fieldsOf(fieldsOf(candidate)?.content)?.parts) ?? [];
    const holder: Record<string, unknown> | undefined = fieldsOf(part);
    // From the first call on, events wait for the end, and a run would join their texts.
    if (raw === undefined || holder === undefined || holder.text !== text)
      this.#runs.repeated = undefined;
    else this.#runs.learn(data, name, { raw, holder, key: "text", counts: "usageMetadata" });
  }

  whole(text: string, emit: Emit<Event>): void {
    if (this.#isOver) return;
    this.#emit = emit;
    const value = parsed(text);
    if (value === undefined) {
      // The connection closed within a list of chunks: they were not read, and the answer is cut off.
      const isList = text.trimStart().startsWith("[");
      return this.#fail(
        malformed(
          isList
            ? "closed the connection in the middle of its answer"
            : "answered with something that is not JSON",
        ),
      );
    }
    this.#readAll(value);
    if (!this.#isOver && !this.#hasRead)
      return this.#fail(strayError(fieldsOf(value) ?? {}, true) ?? malformed(NO_ANSWER));
    this.end(emit);
  }

  /** The end of the body is the end of the answer: nothing else tells that no chunk follows. */
  end(emit: Emit<Event>): void {
    if (this.#isOver) return;
    this.#emit = emit;
    this.#countRun();
    const isComplete = this.#addsUp();
    for (const candidate of this.#candidates.values()) {
      const fault = candidate.end(isComplete);
      if (fault !== undefined) return this.#fail(fault);
    }
    if (this.#candidates.size === 0 && this.#feedback !== undefined) {
      const { blockReason } = this.#feedback;
      if (filledText(blockReason) !== undefined)
        this.#pass({
          type: "turn-end",
          choice: 0,
          stop: "filter",
          ...geminiExtra({ promptFeedback: this.#feedback }),
        });
    }
    this.#passUsage();
    this.#isOver = this.#hasEnded;
  }

  done(): boolean {
    return this.#isOver;
  }

  /** True once an end was emitted. */
  #hasEnded = false;

  /** Reads a chunk, or a list of them. */
  #readAll(value: unknown): void {
    for (const one of listOf(value) ?? [value]) {
      // Some servers write other values between the chunks.
      const chunk = fieldsOf(one);
      if (chunk !== undefined && !this.#isOver) this.#read(chunk);
      if (chunk === undefined && !this.#isOdd) this.#context.report?.(NO_CHUNK);
      this.#isOdd ||= chunk === undefined;
    }
  }

  #read(raw: Fields): void {
    const candidates = listed(raw.candidates);
    const feedback = fieldsOf(raw.promptFeedback);
    const usage = readUsage(raw.usageMetadata);
    const isChunk = candidates.length > 0 || feedback !== undefined || usage !== undefined;
    const fault = upstreamError(raw) ?? (isChunk ? undefined : strayError(raw));
    if (fault !== undefined) return this.#fail(fault);
    if (isChunk || raw.responseId !== undefined || raw.modelVersion !== undefined)
      this.#hasRead = true;
    if (usage !== undefined) {
      this.#usage = usage;
      this.#counted = undefined;
    }
    this.#feedback = feedback ?? this.#feedback;
    this.#start ??= startOf(raw);
    for (const [at, one] of candidates.entries()) {
      const candidate = fieldsOf(one);
      if (candidate === undefined) continue;
      const problem = this.#candidate(numberOf(candidate.index) ?? at)?.read(
        raw.continuationToken === undefined
          ? candidate
          : { continuationToken: raw.continuationToken, ...candidate },
      );
      if (problem !== undefined) return this.#fail(problem);
    }
  }

  #candidate(index: number): CandidateReader | undefined {
    let found = this.#candidates.get(index);
    if (found === undefined) {
      if (!Number.isInteger(index) || index < 0 || index >= MOST_CANDIDATES) return undefined;
      found = new CandidateReader(index, this.#context, (event) => this.#pass(event));
      this.#candidates.set(index, found);
    }
    return found;
  }

  /** True if an answer without a reason is complete: it has thoughts alone, and its counts are final. */
  #addsUp(): boolean {
    const { input = 0, output = 0, total = 0 } = this.#usage ?? {};
    const areThoughts = [...this.#candidates.values()].every(({ isThoughtOnly }) => isThoughtOnly);
    return areThoughts && output > 0 && total === input + output;
  }

  #pass(event: Event): void {
    if (this.#isOver) return;
    if (!this.#hasBegun) this.#emit(this.#start ?? { type: "turn-start", dialect: "gemini" });
    this.#hasBegun = true;
    if (event.type === "turn-end") this.#hasEnded = true;
    this.#emit(this.#runs.pass(event));
  }

  #countRun(): void {
    const counted = this.#counted === undefined ? undefined : fieldsOf(jsonOf(this.#counted));
    this.#usage = readUsage(counted?.usageMetadata) ?? this.#usage;
    this.#counted = undefined;
  }

  #passUsage(): void {
    if (this.#hasBegun && this.#usage !== undefined)
      this.#emit({ type: "usage", usage: this.#usage });
  }

  #fail(fault: Fault): void {
    this.#isOver = true;
    this.#countRun();
    this.#passUsage();
    this.#emit({ type: "turn-fail", fault });
  }
}

const NO_CHUNK: Decision = {
  path: "output",
  action: "noticed",
  reason: "the upstream sent a chunk that is not an object; it was skipped",
};
const NO_ANSWER = "answered with something that has no `candidates`";

/** The arguments of calls are values, whose numbers must keep their digits. */
const parsed = (text: string): unknown =>
  text.includes('"functionCall"') ? exactJsonOf(text) : jsonOf(text);

function startOf(raw: Fields): Event {
  const created = Date.parse(filledText(raw.createTime) ?? "") / 1000;
  const rest = Object.entries(raw).filter(([key, value]) => !known.has(key) && value != null);
  return {
    type: "turn-start",
    dialect: "gemini",
    ...given({ id: filledText(raw.responseId), model: filledText(raw.modelVersion) }),
    ...(Number.isFinite(created) && { created: Math.floor(created) }),
    ...(rest.length > 0 && { extra: Object.fromEntries(rest) }),
  };
}

export const readEvents = (context: ReadContext): EventReader => new GeminiReader(context);
