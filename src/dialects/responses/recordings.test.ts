import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { StreamNormalizer } from "../../stream/normalize.ts";
import { fold, type Answer } from "../../stream/fold.ts";
import { runStage } from "../../stream/stage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Item } from "../../turn/turn.ts";
import { callKindOf } from "./kinds.ts";
import { readEvents } from "./read-events.ts";

type Recording = {
  readonly file: string;
  readonly dialect: string;
  readonly format: "json" | "jsonl";
  readonly bad_lines: number;
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly kind?: string;
    readonly arguments?: string;
    readonly input?: string;
  }[];
  readonly text: string;
  readonly finish: string | readonly string[] | null;
  readonly reasoning_len: number;
};

const folder = join(import.meta.dirname, "../../../../shared/fixtures/vercel-ai");
const index = join(folder, "index.json");
if (!existsSync(index)) process.stderr.write(`recordings are not read: there is no ${index}\n`);
const recordings = existsSync(index)
  ? (JSON.parse(readFileSync(index, "utf8")) as Recording[]).filter(
      ({ dialect }) => dialect === "responses",
    )
  : [];

/** Every answer of a recording: some hold several turns, one after another. */
function answersOf({ file, format }: Recording): Answer<UpstreamName>[] {
  const text = readFileSync(join(folder, file), "utf8");
  if (format === "json") return [answerOf((read) => read.whole(text))];
  const turns: string[][] = [];
  for (const line of text.split("\n").filter((one) => one.trim() !== "")) {
    if (turns.length === 0 || line.includes('"type":"response.created"')) turns.push([]);
    turns.at(-1)?.push(line);
  }
  return turns.map((lines) => answerOf((read) => lines.forEach((line) => read.frame(line))));
}

type Read = { frame(data: string): void; whole(text: string): void };

function answerOf(play: (read: Read) => void): Answer<UpstreamName> {
  let ids = 0;
  const reader = readEvents({ newId: (prefix) => `${prefix}_${ids++}`, frames: true });
  const events: TurnEvent<UpstreamName>[] = [];
  const emit = (event: TurnEvent<UpstreamName>): void => void events.push(event);
  play({
    frame: (data) => reader.frame(data, undefined, false, emit),
    whole: (text) => reader.whole(text, emit),
  });
  return fold(runStage(new StreamNormalizer<UpstreamName>(), events));
}

/** A call as the index states it: hosted ones are named by their item. */
function stated(item: Item<UpstreamName>): { id: unknown; name: string; input: unknown }[] {
  if (item.type === "call") {
    const isNamed = item.kind === "function" || item.kind === "custom";
    const name = isNamed ? item.name : callKindOf(item.kind).call;
    return [{ id: item.id, name, input: isNamed ? item.input : JSON.parse(item.input) }];
  }
  if (item.type !== "opaque") return [];
  const { raw } = item;
  const type = String(raw.type);
  if (!type.endsWith("_call") && type !== "mcp_approval_request") return [];
  const input = raw.action ?? raw.operation ?? raw.code ?? raw.queries ?? raw.arguments;
  const name = typeof raw.name === "string" ? raw.name : type;
  return [{ id: raw.call_id || raw.id, name, input }];
}

const textOf = (items: readonly Item<UpstreamName>[]): string =>
  items
    .flatMap((item) => (item.type === "message" ? item.parts : []))
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("");

/** The index lists calls in the order in which they ended. */
const byId = <T extends { id: unknown }>(calls: readonly T[]): T[] =>
  calls.toSorted((one, other) => String(one.id).localeCompare(String(other.id)));

/** Here the deltas say another text than the event that ends them; what was streamed stands. */
const contradicted: Readonly<Record<string, string>> = {
  "openai-responses/openai-shell-container.1.chunks.txt": "The command ran successfully.",
};

describe.skipIf(recordings.length === 0)("recorded Responses traffic", () => {
  it.each(recordings.map((recording) => [recording.file, recording] as const))(
    "%s",
    (_, recording) => {
      const answers = answersOf(recording);
      const items = answers.flatMap((answer) => answer.choices[0]?.items ?? []);
      expect(textOf(items)).toBe(contradicted[recording.file] ?? recording.text);
      expect(byId(items.flatMap(stated))).toEqual(
        byId(
          recording.calls.map(({ id, name, kind, arguments: given, input }) => ({
            id,
            name,
            input: kind === undefined ? given : (input ?? JSON.parse(given ?? "null")),
          })),
        ),
      );
      if (recording.bad_lines > 0) return;
      const finishes = answers.map((answer) => (answer.fault ? "failed" : "completed"));
      expect(finishes).toEqual([recording.finish].flat());
    },
  );
});
