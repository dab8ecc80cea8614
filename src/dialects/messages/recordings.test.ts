import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fold, type Answer } from "../../stream/fold.ts";
import { StreamNormalizer } from "../../stream/normalize.ts";
import { runStage } from "../../stream/stage.ts";
import { StraightLane } from "../../stream/straight.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { ClientName, UpstreamName } from "../../turn/names.ts";
import type { Item } from "../../turn/turn.ts";
import { messages } from "./messages.ts";
import { readEvents } from "./read-events.ts";

type Recording = {
  readonly file: string;
  readonly format: "json" | "jsonl";
  readonly dialect: string;
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments?: string;
  }[];
  readonly text: string;
};
type Event = TurnEvent<UpstreamName>;

const folder = join(import.meta.dirname, "../../../../shared/fixtures/vercel-ai");
const index = join(folder, "index.json");
if (!existsSync(index)) process.stderr.write(`recordings are not read: there is no ${index}\n`);
const recordings = existsSync(index)
  ? (JSON.parse(readFileSync(index, "utf8")) as Recording[]).filter(({ file }) =>
      file.startsWith("anthropic/"),
    )
  : [];

const textIn = ({ file }: Recording): string => readFileSync(join(folder, file), "utf8");
/** The frames of each answer: some recordings hold several turns, one after another. */
function turnsIn(recording: Recording): string[][] {
  const turns: string[][] = [];
  let isOver = true;
  for (const line of textIn(recording).split("\n")) {
    if (line.trim() === "") continue;
    if (isOver) turns.push([]);
    turns.at(-1)?.push(line);
    isOver = typeOf(line) === "message_stop";
  }
  return turns;
}
const typeOf = (line: string): string => (JSON.parse(line) as { type: string }).type;

function eventsOf(turn: string | readonly string[], frames = false): Event[] {
  const reader = readEvents({ newId: (prefix) => prefix, frames });
  const events: Event[] = [];
  const emit = (event: Event): void => void events.push(event);
  if (typeof turn === "string") reader.whole(turn, emit);
  else for (const line of turn) reader.frame(line, typeOf(line), false, emit);
  reader.end?.(emit);
  return runStage(new StreamNormalizer<UpstreamName>(), events);
}

/** Every answer of a recording, as a body or as frames. */
const answersIn = (recording: Recording): readonly (string | readonly string[])[] =>
  recording.format === "json" ? [textIn(recording)] : turnsIn(recording);

/** What an answer comes to: how its arguments were spaced and what was not counted does not matter. */
const plain = ({ usage, choices, ...rest }: Answer<UpstreamName>): unknown => ({
  ...rest,
  usage: { ...usage, cached: usage?.cached ?? 0, cacheWrite: usage?.cacheWrite ?? 0 },
  choices: choices.map(({ items, ending, ...choice }) => ({
    ...choice,
    // Its reason is the stop; a recording that was put together says another.
    ending: { ...ending?.fields, stop_reason: choice.stop },
    items: items.map((item) =>
      item.type === "call" ? { ...item, input: JSON.parse(item.input) as unknown } : item,
    ),
  })),
});
const itemsOf = ({ choices }: Answer<UpstreamName>): readonly Item<UpstreamName>[] =>
  choices[0]?.items ?? [];

/** A call of the client's or, as the index has them too, one that the provider made for itself. */
function stated(item: Item<UpstreamName>): { id: unknown; name: unknown; input: unknown }[] {
  if (item.type === "call")
    return [{ id: item.id, name: item.name, input: JSON.parse(item.input) }];
  if (item.type !== "opaque" || !String(item.raw.type).endsWith("tool_use")) return [];
  return [{ id: item.raw.id, name: item.raw.name, input: item.raw.input }];
}

const wordsIn = (items: readonly Item<UpstreamName>[]): string =>
  items
    .flatMap((item) => (item.type === "message" ? item.parts : []))
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("");

const context = { id: "msg_1", created: 7, now: () => 7, newId: (prefix: string) => prefix };
const turn = messages.door.readRequest({
  model: "m",
  max_tokens: 9,
  messages: [{ role: "user", content: "Hi" }],
  stream: true,
});

/** What a client would read, and by the same reader. */
function reread(text: string): Answer<UpstreamName> {
  const reader = readEvents({ newId: (prefix) => prefix, frames: false });
  const events: Event[] = [];
  for (const frame of text.split("\n\n").filter((one) => one !== "")) {
    const [name = "", data = ""] = frame.split("\ndata: ");
    reader.frame(data, name.slice("event: ".length), false, (event) => void events.push(event));
  }
  return fold(runStage(new StreamNormalizer<UpstreamName>(), events));
}

const spliced = "anthropic/spliced-message-start.chunks.txt";
const whole = recordings.filter(({ file }) => file !== spliced);
const rows = whole.map((recording) => [recording.file, recording] as const);

describe.skipIf(recordings.length === 0)("recorded Messages traffic", () => {
  it.each(rows)("%s is read", (_, recording) => {
    const answers = answersIn(recording).map((turn) => fold(eventsOf(turn)));
    expect(answers.map(({ fault }) => fault)).toEqual(answers.map(() => undefined));
    const items = answers.flatMap(itemsOf);
    expect(wordsIn(items)).toBe(recording.text);
    expect(items.flatMap(stated)).toEqual(
      recording.calls.map(({ id, name, arguments: input }) => ({
        id,
        name,
        input: JSON.parse(input ?? "{}") as unknown,
      })),
    );
  });

  it.each(rows)("%s is the same for a client behind us", (_, recording) => {
    for (const answer of answersIn(recording)) {
      const events = eventsOf(answer) as unknown as TurnEvent<ClientName>[];
      const expected = plain(fold(eventsOf(answer)));
      const said = runStage(messages.door.writeEvents(turn, context), events).join("");
      expect(plain(reread(said))).toEqual(expected);
      const body = messages.door.writeAnswer(fold(events), turn, context);
      expect(plain(fold(eventsOf(body)))).toEqual(expected);
    }
  });

  it.each(rows.filter(([, { format }]) => format === "jsonl"))(
    "%s goes through the straight lane as it came",
    (file, recording) => {
      // One start too many is what the lane repairs.
      if (file.includes("duplicate")) return;
      for (const lines of turnsIn(recording)) {
        const events = eventsOf(lines, true) as unknown as TurnEvent<ClientName>[];
        const writer = messages.door.writeEvents(turn, context);
        const lane = new StraightLane(writer, { usageWanted: true, endMarker: "" });
        const sent = lines.map((line) => `event: ${typeOf(line)}\ndata: ${line}\n\n`);
        expect(runStage(lane, events).join("")).toBe(sent.join(""));
      }
    },
  );

  it("fails an answer that another one breaks into", () => {
    const recording = recordings.find(({ file }) => file === spliced);
    const [answer = ""] = recording === undefined ? [] : answersIn(recording);
    expect(fold(eventsOf(answer)).fault?.code).toBe("upstream.malformed");
  });
});
