import * as fc from "fast-check";
import type { UpstreamDialect } from "../../src/dialects/dialect.ts";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { StreamNormalizer } from "../../src/stream/normalize.ts";
import { runStage } from "../../src/stream/stage.ts";
import { isCut, type TurnEvent } from "../../src/turn/event.ts";
import { isFields, jsonOf } from "../../src/json/json.ts";
import { JsonScanner } from "../../src/json/scan.ts";
import type { ClientName, UpstreamName } from "../../src/turn/names.ts";
import { wantedCalls } from "../../test/support/fake-model.ts";
import { readStream } from "../../test/support/frame-runs.ts";
import { broken } from "../../test/support/stream-grammar.ts";
import type { Campaign, Property } from "../campaign.ts";
import { leastTime } from "../least-time.ts";
import { answerIn, examples } from "../examples.ts";
import { changes, mutated, type Change } from "../mutate.ts";

type Event = TurnEvent<UpstreamName>;

const say = { reasoning: "Hm.", text: "Let me see. ☃", calls: wantedCalls };

/** The events that a dialect's reader finds in a stream, which arrives in these pieces. */
function read(upstream: UpstreamDialect, pieces: readonly string[], frames: boolean): Event[] {
  let ids = 0;
  const reader = upstream.readEvents({ newId: (prefix) => `${prefix}_${++ids}`, frames, asked: 1 });
  return readStream(reader, pieces, true);
}

const lawful = (events: readonly Event[], most?: number): Event[] =>
  runStage(new StreamNormalizer<UpstreamName>(1, undefined, most), events);

/** The end of an answer, and the number of calls that a client may run. */
function ending(events: readonly Event[]): string {
  const ends = events.flatMap((event) =>
    event.type === "turn-end" ? [isCut(event.stop) ? "cut" : "complete"] : [],
  );
  const calls = events.filter((event) => event.type === "call-end" && event.complete);
  return events.some(({ type }) => type === "turn-fail")
    ? "failed"
    : `${ends.join(" ")}, ${calls.length} calls`;
}

/**
 * The end that a client must read. Messages clients get no call that breaks off within its
 * arguments, and nothing after it (decision 9), whatever end the upstream reports.
 */
function meantFor(door: string, answer: readonly Event[]): string {
  const meant = ending(answer);
  if (door === "gemini" && meant !== "failed") return meantForGemini(meant, answer);
  return door === "messages" && meant !== "failed" && breaksOff(answer) ? "cut, " : meant;
}

/** Gemini clients get all calls or none; a call whose arguments are no object is malformed. */
function meantForGemini(meant: string, answer: readonly Event[]): string {
  const inputs = new Map<number, string>();
  let isWhole = !meant.startsWith("cut") && !breaksOff(answer);
  for (const event of answer) {
    if (event.type === "call-start") inputs.set(event.call, "");
    if (event.type === "call-delta")
      inputs.set(event.call, (inputs.get(event.call) ?? "") + event.text);
    if (event.type === "call-end" && !event.complete) isWhole = false;
  }
  if (!isWhole) return "cut, ";
  return [...inputs.values()].every(isObject) ? meant : "failed";
}

function isObject(text: string): boolean {
  const value = text.trim() === "" ? {} : jsonOf(text);
  return isFields(value) || value === null;
}

function breaksOff(answer: readonly Event[]): boolean {
  const calls = new Map<number, JsonScanner>();
  for (const event of answer) {
    if (event.type === "call-start" && event.kind === "function")
      calls.set(event.call, new JsonScanner());
    if (event.type === "call-delta") calls.get(event.call)?.follow(event.text);
  }
  return [...calls.values()].some((arguments_) => arguments_.isOpen());
}

/** A client of every door, with the reader of its streams. */
const clients = builtinDialects.doors.flatMap(({ name, door }) => {
  const reader = builtinDialects.upstreams.find((one) => one.name === name)?.upstream;
  const turn = door.readRequest({ ...examples[name], stream: true });
  return reader === undefined ? [] : [{ name, door, turn, reader }];
});
type Client = (typeof clients)[number];

/** Writes events for a client and reads the result as the client does; "" if the end is the same. */
function misled(events: readonly Event[], { name, door, turn, reader }: Client): string {
  const answer = lawful(events, turn.traits.choices);
  const context = { id: "answer_1", created: 0, now: () => 0, newId: (prefix: string) => prefix };
  const written = runStage(
    door.writeEvents(turn, context),
    // Nothing was renamed for the upstream: its names are the client's.
    answer.filter(({ type }) => type !== "frame") as unknown as TurnEvent<ClientName>[],
  );
  const [meant, heard] = [meantFor(name, answer), ending(lawful(read(reader, written, false)))];
  return heard.startsWith(meant) ? "" : `a ${name} client reads "${heard}" for "${meant}"`;
}

/** Events as text: fields in the order of their names, faults as their codes. */
const brief = (events: readonly Event[]): string =>
  JSON.stringify(events, (key, value: unknown) => {
    if (key === "fault") return (value as { code?: unknown }).code;
    return isFields(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  });

function split(text: string, at: readonly number[]): string[] {
  const places = [...new Set(at.map((place) => place % (text.length + 1)))].toSorted(
    (a, b) => a - b,
  );
  return [0, ...places].map((from, index) => text.slice(from, places[index]));
}

const isTerminal = ({ type }: Event): boolean => type === "turn-end" || type === "turn-fail";

/**
 * Streams of every dialect: frames are changed, moved and cut, and the whole is split
 * anywhere. The clients of every door must then read the same end.
 */
export function answers(): Campaign {
  const properties = builtinDialects.upstreams.map((entry): Property => {
    const sound = answerIn(entry.name, say, true);
    const input = fc.record({
      bends: fc.array(
        fc.record({
          at: fc.nat(1000),
          does: fc.constantFrom("change", "drop", "repeat", "swap", "cut"),
          list: fc.array(changes, { minLength: 1, maxLength: 3 }),
        }),
        { maxLength: 4 },
      ),
      cuts: fc.array(fc.nat(100_000), { maxLength: 12 }),
      frames: fc.boolean(),
    });
    return {
      name: `${entry.name}: streams`,
      property: fc.asyncProperty(input, async ({ bends, cuts, frames }) => {
        const text = bends.reduce(bend, sound).join("");
        const most = 60 + text.length / 1000;
        let events: Event[] = [];
        const ms = await leastTime(most, () => (events = read(entry.upstream, [text], frames)));
        const whole = lawful(events);
        const law = broken(whole);
        if (law.length > 0) throw new Error(law.join("; "));
        if (!whole.some(isTerminal)) throw new Error("no terminal");
        const other = lawful(read(entry.upstream, split(text, cuts), frames));
        if (brief(whole) !== brief(other)) throw new Error("other events when split");
        const wrong = clients.map((client) => misled(events, client)).find((one) => one !== "");
        if (wrong !== undefined) throw new Error(wrong);
        if (ms > most) throw new Error(`${text.length} bytes took ${ms} ms`);
      }),
    };
  });
  return { properties };
}

type Bend = { readonly at: number; readonly does: string; readonly list: readonly Change[] };

function bend(frames: readonly string[], { at: place, does, list }: Bend): string[] {
  const at = place % Math.max(1, frames.length);
  const frame = frames[at] ?? "";
  switch (does) {
    case "drop":
      return frames.toSpliced(at, 1);
    case "repeat":
      return frames.toSpliced(at, 0, frame);
    case "swap":
      return frames.toSpliced(at, 1).toSpliced((at * 7) % Math.max(1, frames.length), 0, frame);
    case "cut":
      return [...frames.slice(0, at), frame.slice(0, frame.length / 2)];
    default:
      return frames.toSpliced(at, 1, changed(frame, list));
  }
}

function changed(frame: string, list: readonly Change[]): string {
  const from = frame.indexOf("data: ") + 6;
  try {
    const value = mutated(JSON.parse(frame.slice(from)), list);
    return `${frame.slice(0, from)}${JSON.stringify(value)}\n\n`;
  } catch {
    return frame; // The sentinel is no JSON.
  }
}
