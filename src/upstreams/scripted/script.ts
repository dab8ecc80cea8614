import { isMap, isSeq, LineCounter, parseDocument, type Document } from "yaml";
import { z } from "zod";
import { pathText, issueProblems, type Path, type Problem } from "../../diagnostics/problem.ts";
import type { StopReason, Usage } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { ownOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";

/** A problem of a script; with a line if the script is text. */
type ScriptProblem = Problem & { readonly line?: number | undefined };

/** The script is undefined if it has problems. */
type CheckedScript = {
  readonly script?: Script | undefined;
  readonly problems: readonly ScriptProblem[];
};

const choice = z.int().nonnegative().optional();
const chunks = z.int().positive().max(100_000).optional();
const textPieces = z.union([z.string(), z.array(z.string())], {
  error: "must be text, or a list of the pieces it comes in",
});
const count = z.int().nonnegative();

const callGroup = z.strictObject({
  name: z.string().min(1),
  arguments: z.union([z.string(), z.record(z.string(), z.unknown())]).optional(),
  input: z.string().optional(),
  id: z.string().min(1).optional(),
  kind: z.string().min(1).optional(),
  namespace: z.string().min(1).optional(),
  chunks,
});
const call = callGroup
  .refine((one) => one.arguments === undefined || one.input === undefined, {
    error: "has both `arguments` and `input`; a function takes the first, a custom tool the other",
  })
  .transform(({ arguments: given = {}, input, kind, chunks, ...call }) => ({
    ...call,
    kind: kind ?? (input === undefined ? "function" : "custom"),
    pieces: split(asJsonText(input ?? given), chunks),
  }));
export type ScriptCall = z.infer<typeof call>;

const usageGroup = z.strictObject({
  input: count,
  output: count,
  cached: count.optional(),
  cache_write: count.optional(),
  reasoning: count.optional(),
});
const usage = usageGroup.transform(({ cache_write, ...given }): Usage => ({
  ...given,
  cacheWrite: cache_write,
  total: given.input + given.output,
}));

const textOrGroup = z.union([z.string(), z.record(z.string(), z.unknown())], {
  error: "must be text, or a group that is sent as JSON",
});
export const asJsonText = (value: string | Fields): string =>
  typeof value === "string" ? value : JSON.stringify(value);

const errorGroup = z.strictObject({
  status: z.int().min(300).max(599).optional(),
  code: z.string().optional(),
  message: z.string().default("The script says so."),
  retry_after: z.number().nonnegative().optional(),
  headers: z.record(z.string().toLowerCase(), z.string()).default({}),
  body: textOrGroup.optional(),
});
const error = z.union([
  z.string().transform((message) => errorGroup.parse({ message })),
  errorGroup,
]);
export type ScriptError = z.infer<typeof error>;

const rawGroup = z.strictObject({
  dialect: z.string().min(1),
  frames: z.array(textOrGroup).optional(),
  sse: z.string().optional(),
  bytes: z.int().positive().optional(),
  body: textOrGroup.optional(),
});
const raw = rawGroup
  .refine(({ frames, sse, body }) => [frames, sse, body].filter(isGiven).length === 1, {
    error: "has one of `frames`, `sse` and `body`",
  })
  .refine(({ sse, bytes }) => isGiven(sse) || !isGiven(bytes), {
    error: "has `bytes`, which only `sse` is cut into",
  });
/** An upstream's frames, bytes of an event stream, or body that is no stream. */
export type RawStep = z.infer<typeof raw>;

function isGiven(value: unknown): boolean {
  return value !== undefined;
}

const stops: Readonly<Record<string, StopReason>> = {
  end: "end",
  calls: "calls",
  length: "length",
  filter: "filter",
  pause: "pause",
  stop: "end",
  tool_calls: "calls",
  content_filter: "filter",
};
const only = z.literal(true, { error: "takes no value but `true`" });

/** A step that is written in pieces. */
const inPieces = <Type extends string>(
  type: Type,
  text: z.infer<typeof textPieces>,
  { chunks, choice }: { chunks?: number | undefined; choice?: number | undefined },
) => ({ type, pieces: typeof text === "string" ? split(text, chunks) : text, choice });
const callsOf = (calls: readonly ScriptCall[], choice: number | undefined) =>
  ({ type: "calls", calls, choice }) as const;

/** The steps by the key that names them. */
const steps = {
  text: z
    .strictObject({ text: textPieces, chunks, choice })
    .transform((s) => inPieces("text", s.text, s)),
  refusal: z
    .strictObject({ refusal: textPieces, chunks, choice })
    .transform((s) => inPieces("refusal", s.refusal, s)),
  reasoning: z
    .strictObject({
      reasoning: textPieces,
      of: z.enum(["content", "summary"]).default("content"),
      chunks,
      choice,
    })
    .transform((s) => ({ ...inPieces("reasoning", s.reasoning, s), of: s.of })),
  call: z.strictObject({ call, choice }).transform((s) => callsOf([s.call], s.choice)),
  calls: z
    .strictObject({ calls: z.array(call).min(1), choice })
    .transform((s) => callsOf(s.calls, s.choice)),
  usage: z.strictObject({ usage }).transform((s) => ({ type: "usage" as const, ...s })),
  delay: z
    .strictObject({ delay: count })
    .transform((s) => ({ type: "delay" as const, ms: s.delay })),
  raw: z.strictObject({ raw }).transform((s) => ({ type: "raw" as const, ...s })),
  error: z.strictObject({ error }).transform((s) => ({ type: "error" as const, ...s })),
  stop: z
    .strictObject({ stop: z.enum(Object.keys(stops) as [string, ...string[]]), choice })
    .transform((s) => ({ type: "stop" as const, stop: stops[s.stop] ?? "end", choice: s.choice })),
  cut: z.strictObject({ cut: only }).transform(() => ({ type: "cut" as const })),
  hang: z.strictObject({ hang: only }).transform(() => ({ type: "hang" as const })),
};
export type Step = z.infer<(typeof steps)[keyof typeof steps]>;

/** The key selects the schema: the errors of a union would only say that no member matches. */
const step = z.unknown().transform((value, context): Step => {
  const group = typeof value === "string" ? { text: value } : value;
  const keys = typeof group === "object" && group !== null ? Object.keys(group) : [];
  const known: Readonly<Record<string, z.ZodType<Step>>> = steps;
  const schema = keys.map((key) => ownOf(known, key)).find((one) => one !== undefined);
  const read = schema?.safeParse(group, { reportInput: true });
  if (read?.success === true) return read.data;
  // `addIssue` would replace the input of a missing key by the whole step.
  for (const issue of read?.error.issues ?? [])
    context.issues.push({ ...issue } as z.core.$ZodRawIssue);
  if (read === undefined)
    context.addIssue({
      code: "custom",
      message: `is no step; a step is one of ${Object.keys(steps).join(", ")}`,
    });
  return z.NEVER;
});

/** `/text/i` is a regular expression; any other text is searched for literally, in either case. */
const pattern = z.string().transform((text, context): RegExp => {
  const [, source, flags] = /^\/(.*)\/([a-z]*)$/s.exec(text) ?? [];
  if (source === undefined) return new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "i");
  try {
    // With `g` or `y` a RegExp keeps its last index and would not match the same text twice.
    return new RegExp(source, flags?.replaceAll(/[gy]/g, ""));
  } catch (error) {
    context.addIssue({ code: "custom", message: String(error) });
    return z.NEVER;
  }
});

const when = z.strictObject({
  user: pattern.optional(),
  result: pattern.optional(),
  model: pattern.optional(),
  position: count.optional(),
});

const turnGroup = z.strictObject({ when: when.optional(), steps: z.array(step) });
export type ScriptTurn = z.infer<typeof turnGroup>;
const turn = z
  .union([z.array(z.unknown()).transform((all) => ({ steps: all })), z.looseObject({})], {
    error: "must be a list of steps, or `when` and `steps`",
  })
  .pipe(turnGroup);

const scriptGroup = z.strictObject({
  models: z.array(z.string().min(1)).default(["scripted"]),
  sequence: z.enum(["conversation", "requests"]).default("conversation"),
  turns: z.array(turn).min(1),
});
/** A script, whose format is in `docs/scripted.md`. */
export type Script = z.infer<typeof scriptGroup>;
const script = z
  .union([z.array(z.unknown()).transform((all) => ({ turns: all })), z.looseObject({})], {
    error: "must be a list of turns, or `turns` and what goes with them",
  })
  .pipe(scriptGroup);

/** The known keys of a group by the key that it is under. */
const groups: Readonly<Record<string, { readonly shape: object }>> = {
  "": scriptGroup,
  turns: turnGroup,
  when,
  call: callGroup,
  calls: callGroup,
  usage: usageGroup,
  error: errorGroup,
  raw: rawGroup,
};

function keysAt(path: Path): readonly string[] {
  const under = path.findLast((key) => typeof key === "string") ?? "";
  return Object.keys(ownOf(groups, under)?.shape ?? {});
}

/** Checks a script: YAML or JSON text, or what that parses to. */
export function checkScript(source: unknown): CheckedScript {
  if (typeof source !== "string") return checkValue(source, () => undefined);
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines });
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ message, pos }) => ({
      path: [],
      message: message.split("\n")[0] ?? message,
      line: lines.linePos(pos[0]).line,
    }));
    return { problems };
  }
  const value = valueOf(document);
  if (value === undefined) return { problems: [{ path: [], message: ENDLESS }] };
  return checkValue(value, (path) => {
    const offset = offsetOf(document, path);
    return offset === undefined ? undefined : lines.linePos(offset).line;
  });
}

const ENDLESS =
  "unfolds without end, or is nested too deep; write aliases out, and the rest flatter";

/** The value of a document; undefined if aliases make it endless. */
function valueOf(document: Document): unknown {
  try {
    const value: unknown = document.toJS() ?? null;
    // Throws for a value that contains itself.
    JSON.stringify(value);
    return value;
  } catch {
    return undefined; // Endless, or nested too deep for the stack.
  }
}

/** The script, or one Fault with all its problems. */
export function readScript(source: unknown, name: string): Script {
  const { script, problems: found } = checkScript(source);
  if (script !== undefined) return script;
  const problems = found.map(
    ({ path, line, message }) =>
      `${line === undefined ? "" : `line ${line}, `}\`${pathText(path) || "script"}\` ${message}`,
  );
  throw new Fault("config.invalid", `The script of upstream \`${name}\`: ${problems.join("; ")}.`);
}

function checkValue(value: unknown, lineOf: (path: Path) => number | undefined): CheckedScript {
  const { data, error } = script.safeParse(value, { reportInput: true });
  const problems = (error?.issues ?? []).flatMap((issue) => issueProblems(issue, keysAt));
  return {
    script: data,
    problems: problems.map(({ path, message }) => ({ path, message, line: lineOf(path) })),
  };
}

/** The offset of the innermost node on the path that exists. */
function offsetOf(document: Document, path: Path): number | undefined {
  let node: unknown = document.contents;
  let offset = 0;
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => String(item.key) === String(key));
      offset = (pair?.key as { range?: [number] } | undefined)?.range?.[0] ?? offset;
      node = pair?.value;
    } else if (isSeq(node) && typeof key === "number") {
      node = node.items[key];
      offset = (node as { range?: [number] } | undefined)?.range?.[0] ?? offset;
      // A list can replace its group; then only the path has the group's key.
    } else if (!isSeq(node)) break;
  }
  return offset;
}

/** Splits text evenly, between characters. */
export function split(text: string, most = 1): readonly string[] {
  if (most === 1) return [text];
  const chars = Array.from(text);
  const size = Math.max(1, Math.ceil(chars.length / most));
  return Array.from({ length: Math.ceil(chars.length / size) }, (_, at) =>
    chars.slice(at * size, (at + 1) * size).join(""),
  );
}
