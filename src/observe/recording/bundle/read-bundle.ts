/** Reads a bundle, or says what is wrong with it and what to do. */

import { hash } from "node:crypto";
import { isWithin, jsonOf } from "../../../json/json.ts";
import { Fault } from "../../../turn/fault.ts";
import { BUNDLE_VERSION, bundleLine, type BundleLine, type LineOf } from "./line.ts";

/** Bytes of a stream, and when they came. */
export type Chunk = { readonly at: number; readonly bytes: Buffer };

/** One call to an upstream. */
export type BundleTry = {
  readonly nth: number;
  readonly at: number;
  readonly upstream: string;
  /** None where the upstream speaks no HTTP. */
  readonly request?: LineOf<"upstream-request"> | undefined;
  readonly head?: LineOf<"upstream-head"> | undefined;
  readonly chunks: readonly Chunk[];
  readonly events: readonly LineOf<"upstream-event">[];
  readonly end?: LineOf<"upstream-end"> | undefined;
};

export type Bundle = {
  readonly head: LineOf<"bundle">;
  readonly settings: LineOf<"settings">;
  readonly request: LineOf<"client-request">;
  readonly tries: readonly BundleTry[];
  readonly reply: {
    readonly head?: LineOf<"client-head"> | undefined;
    readonly chunks: readonly (Chunk & { readonly after: number })[];
    readonly end?: LineOf<"client-end"> | undefined;
  };
  readonly plan?: LineOf<"plan">["plan"] | undefined;
  readonly done?: LineOf<"done">["done"] | undefined;
  readonly expect?: LineOf<"expect"> | undefined;
};

/** Throws a Fault whose text names the problem and the remedy. */
export function readBundle(text: string): Bundle {
  const lines = checkedLines(text);
  const first = <Type extends BundleLine["line"]>(type: Type): LineOf<Type> | undefined =>
    lines.find((line): line is LineOf<Type> => line.line === type);
  const [head, settings, request] = [first("bundle"), first("settings"), first("client-request")];
  if (head === undefined || settings === undefined || request === undefined)
    throw bad("lacks its first lines; get the whole file, or record the turn again");
  const chunks = lines.flatMap((line) =>
    line.line === "client-bytes" ? [{ at: line.at, after: line.after, bytes: bytesIn(line) }] : [],
  );
  return {
    head,
    settings,
    request,
    tries: triesIn(lines),
    reply: { head: first("client-head"), chunks, end: first("client-end") },
    plan: first("plan")?.plan,
    done: first("done")?.done,
    expect: first("expect"),
  };
}

function checkedLines(text: string): readonly BundleLine[] {
  const rows = text.split("\n");
  if (rows.at(-1) === "") rows.pop();
  const head = jsonOf(rows[0] ?? "");
  if (typeof head !== "object" || head === null || !("line" in head) || head.line !== "bundle")
    throw bad(
      "is no bundle of Patchbay: its first line does not say so; name a .bundle.jsonl file",
    );
  const version = "version" in head ? head.version : undefined;
  if (version !== BUNDLE_VERSION)
    throw bad(
      `is of version ${String(version)}, and this Patchbay reads ${BUNDLE_VERSION}; use the Patchbay that recorded it (${"gateway" in head ? String(head.gateway) : "unknown"}), or record the turn again`,
    );
  const lines = rows.map((row, at) => lineIn(row, at + 1));
  checkSeal(text, lines);
  return lines;
}

/** Nothing that Patchbay writes is nested so deep; what is deeper takes the stack of its readers. */
const DEEPEST = 200;

function lineIn(row: string, number: number): BundleLine {
  const value = jsonOf(row);
  if (value === undefined)
    throw bad(
      `is cut off or damaged in line ${number}; get the whole file, or record the turn again`,
    );
  if (!isWithin(value, DEEPEST))
    throw bad(`is nested deeper than ${DEEPEST} levels in line ${number}; record the turn again`);
  const line = bundleLine.safeParse(value);
  if (line.success) return line.data;
  const [problem] = line.error.issues;
  throw bad(
    `has a line that is none of a bundle's, ${number} (${problem?.path.join(".") ?? ""}: ${problem?.message ?? "unknown"}); get the file as it was recorded`,
  );
}

function checkSeal(text: string, lines: readonly BundleLine[]): void {
  const at = lines.findIndex(({ line }) => line === "seal");
  const seal = lines[at];
  if (seal?.line !== "seal")
    throw bad(
      "has no seal: it was cut off while it was written or copied; get the whole file, or record the turn again",
    );
  const sealedText = `${text.split("\n", at).join("\n")}\n`;
  const rest = lines.slice(at + 1);
  if (seal.lines !== at || hash("sha256", sealedText) !== seal.sha256)
    throw bad("was changed after it was recorded; get the file as it was recorded");
  if (rest.some(({ line }) => line !== "expect"))
    throw bad("has lines behind its seal other than `expect`; take them out");
}

const bad = (problem: string): Fault => new Fault("request.invalid", `The bundle ${problem}.`);

const bytesIn = ({ text, base64 }: { text?: string | undefined; base64?: string | undefined }) =>
  base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(base64, "base64");

function triesIn(lines: readonly BundleLine[]): readonly BundleTry[] {
  const groups = Map.groupBy(lines, (line) => ("try" in line ? line.try : 0));
  return [...groups.values()].flatMap((own): BundleTry[] => {
    const find = <Type extends BundleLine["line"]>(type: Type): LineOf<Type> | undefined =>
      own.find((line): line is LineOf<Type> => line.line === type);
    const request = find("upstream-request");
    const opening = request ?? find("upstream-answer");
    if (opening === undefined) return [];
    const chunks = own.flatMap((line) =>
      line.line === "upstream-bytes" ? [{ at: line.at, bytes: bytesIn(line) }] : [],
    );
    return [
      {
        nth: opening.try,
        at: opening.at,
        upstream: opening.upstream,
        request,
        head: find("upstream-head"),
        chunks,
        events: own.flatMap((line) => (line.line === "upstream-event" ? [line] : [])),
        end: find("upstream-end"),
      },
    ];
  });
}
