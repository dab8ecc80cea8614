import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { DoorName } from "./client.ts";
import type { Body } from "./fake-upstream.ts";

const folder = fileURLToPath(new URL("../../../shared/fixtures/vercel-ai/", import.meta.url));
const there = existsSync(`${folder}index.json`);
if (!there) process.stderr.write(`recordings are not replayed: there is no ${folder}\n`);

type Entry = {
  readonly file: string;
  readonly dialect: string;
  readonly format: "jsonl" | "json" | "sse";
  readonly calls: readonly RecordedCall[];
  readonly text: string;
  readonly reasoning_len: number;
  readonly finish: string | null | readonly string[];
  readonly item_types: readonly string[] | readonly (readonly string[])[] | null;
};
type RecordedCall = {
  readonly id: string;
  readonly name: string;
  /** Absent: a function. */
  readonly kind?: string;
  readonly arguments?: string;
  readonly input?: string;
  /** Which turn of a conversation made it. */
  readonly turn?: number;
};

/** One answer a provider really gave. */
export type Recording = {
  readonly file: string;
  readonly dialect: DoorName;
  /** Its events, or its one body. */
  readonly events: readonly string[];
  readonly streamed: boolean;
  /** The calls a client has to answer; one of a built-in tool is of its own kind. */
  readonly calls: readonly { kind: string; id: string; name: string; input: string }[];
  readonly text: string;
  readonly finish: string | null;
  readonly itemTypes: readonly string[];
};

/** The items that call tools which run at the client's. */
const BUILT_IN = /^(apply_patch|local_shell|shell|tool_search)_call$/;

const index = there ? (JSON.parse(readFileSync(`${folder}index.json`, "utf8")) as Entry[]) : [];

/** Every chat and Responses answer, a conversation split into its turns. */
export const recordings: readonly Recording[] = index.flatMap((entry) =>
  entry.dialect === "chat" || entry.dialect === "responses" ? turnsOf(entry, entry.dialect) : [],
);

/** Bodies that came with an error status. */
export const refusals = index
  .filter((entry) => entry.dialect === "error")
  .map(({ file }) => ({ file, body: JSON.parse(read(file)) as Body }));

function read(file: string): string {
  return readFileSync(folder + file, "utf8");
}

function turnsOf(entry: Entry, dialect: DoorName): Recording[] {
  const turns = split(entry);
  const single = turns.length === 1;
  return turns.map((events, turn) => {
    const itemTypes = [(single ? entry.item_types : entry.item_types?.[turn]) ?? []].flat(2);
    return {
      file: single ? entry.file : `${entry.file}, turn ${turn + 1}`,
      dialect,
      events,
      streamed: entry.format !== "json",
      calls: clientCalls(entry, single ? undefined : turn),
      // In the conversations that were recorded only one turn has words.
      text: single || itemTypes.includes("message") ? entry.text : "",
      finish: [entry.finish].flat()[turn] ?? null,
      itemTypes,
    };
  });
}

function split({ file, format }: Entry): string[][] {
  const text = read(file);
  if (format === "json") return [[text]];
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (format === "sse") return [lines.map((line) => line.replace(/^data: /, ""))];
  const turns: string[][] = [];
  for (const line of lines)
    if (turns.length === 0 || line.startsWith('{"type":"response.created"')) turns.push([line]);
    else turns.at(-1)?.push(line);
  return turns;
}

function clientCalls({ calls, item_types }: Entry, turn: number | undefined): Recording["calls"] {
  const types = new Set(item_types?.flat());
  return calls.flatMap(({ id, name, kind = "function", turn: made, ...call }) => {
    const input = call.input ?? call.arguments ?? "";
    if (turn !== undefined && made !== turn) return [];
    if (kind === "function" || kind === "custom") return [{ kind, id, name, input }];
    const builtIn = BUILT_IN.exec(kind)?.[1];
    // What the provider answered by itself was no call to the client.
    const answered = types.has(`${kind}_output`) || types.has(`${builtIn}_output`);
    return builtIn === undefined || answered ? [] : [{ kind: builtIn, id, name: builtIn, input }];
  });
}
