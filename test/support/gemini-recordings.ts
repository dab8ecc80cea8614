import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../../shared/fixtures/vercel-ai/", import.meta.url));

type Entry = {
  readonly file: string;
  readonly dialect: string;
  readonly format: "jsonl" | "json";
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  readonly text: string;
  readonly usage: Readonly<Record<string, number>>;
};

/** One answer of a Gemini, as chunks or as a body. */
export type GeminiRecording = Omit<Entry, "format" | "dialect"> & {
  readonly streamed: boolean;
  /** The data of each frame, or the one body. */
  readonly data: readonly string[];
};

const index = existsSync(`${folder}index.json`)
  ? (JSON.parse(readFileSync(`${folder}index.json`, "utf8")) as Entry[])
  : [];
if (index.length === 0)
  process.stderr.write(`recordings of Gemini are not replayed: there is no ${folder}\n`);

export const geminiRecordings: readonly GeminiRecording[] = index
  .filter(({ dialect }) => dialect === "google")
  .map((entry) => {
    const text = readFileSync(folder + entry.file, "utf8");
    const streamed = entry.format === "jsonl";
    const data = streamed ? text.split("\n").filter((line) => line.trim() !== "") : [text];
    return Object.assign(entry, { streamed, data });
  });
