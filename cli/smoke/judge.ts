import { errorsIn, readUseTool } from "../../src/inspection.ts";
import { jsonOf } from "../../src/terminal.ts";
import { plural } from "../output.ts";
import { type ReadAnswer, clientOf, type SeenCall } from "./clients.ts";
import { weatherTool, type Scene } from "./scene.ts";

export type Bounds = { readonly least: number; readonly most: number };

/** A `<use_tool>` block, as far as our own tool needs it. */
export type Block = { readonly name: string; readonly city: string };

/** The problems of an answer, apart from its form. */
export function answerProblems(scene: Scene, seen: ReadAnswer, bounds: Bounds): string[] {
  // The cut of a stream hides its other problems.
  if (seen.finish === "" && seen.problems.length > 0) return [];
  return [
    ...finishFlaws(scene, seen),
    ...countFlaws(scene, seen, bounds),
    ...callFlaws(seen.calls),
    ...figureFlaws(scene, seen),
    ...textFlaws(scene, seen),
  ];
}

function* finishFlaws({ door }: Scene, { calls, finish }: ReadAnswer): Generator<string> {
  const wanted = clientOf(door).finish;
  if (calls.length > 0 && finish !== wanted)
    yield `the finish reason is ${finish === "" ? "missing" : `\`${finish}\``}, expected \`${wanted}\``;
}

function* countFlaws(
  { door, stream }: Scene,
  { calls, figures }: ReadAnswer,
  { least, most }: Bounds,
): Generator<string> {
  const found = `${plural(calls.length, "call")} came`;
  if (calls.length > most) yield `${found}, expected at most ${most}`;
  if (calls.length >= least) return;
  const why =
    stream && !clientOf(door).counts
      ? "the whole answer beside it names the cause"
      : figures?.truncated === true
        ? "the gateway withheld the others: raise `tools.block_max`, or disable `tools.stop_after` and `first`"
        : "the model made no more: enable `tools.parallel`, or choose a model that makes several calls at once";
  yield `${found}, expected ${least}; ${why}`;
}

export function* callFlaws(calls: readonly SeenCall[]): Generator<string> {
  const ids = new Set<string>();
  for (const [at, { id, name, arguments: input }] of calls.entries()) {
    if (id === "") yield `call ${at} has no id`;
    else if (ids.has(id)) yield `call ${at} has the id of an earlier one, ${id}`;
    ids.add(id);
    if (name !== "get_weather") yield `call ${at} is for \`${name}\`, which was not declared`;
    if (errorsIn(jsonOf(input) ?? null, weatherTool.parameters, input.length)?.length !== 0)
      yield `the arguments of call ${at} do not fit the declared schema: ${input.slice(0, 80)}`;
  }
}

function* figureFlaws({ door, stream }: Scene, { calls, figures }: ReadAnswer): Generator<string> {
  if (figures === undefined) {
    if (!stream) yield "the `x-codex-tool-call-*` headers are missing";
    else if (calls.length > 0 && clientOf(door).counts) yield "the statistics comment is missing";
  } else if (figures.count !== calls.length)
    yield `the statistics count ${figures.count} calls, but ${calls.length} came`;
}

function* textFlaws(
  { door, stream, output }: Scene,
  { calls, text }: ReadAnswer,
): Generator<string> {
  if (output === "obsidian-xml") {
    const called = calls.map(({ name, arguments: input }) => `${name} ${cityIn(input)}`);
    const shown = useToolBlocks(text).map(({ name, city }) => `${name} ${city}`);
    if (called.join("\n") !== shown.join("\n"))
      yield `the <use_tool> blocks (${shown.join(", ") || "none"}) differ from the calls (${called.join(", ") || "none"})`;
    return;
  }
  if (text.includes("<use_tool")) yield "the text contains a <use_tool> block";
  else if (clientOf(door).callsAlone && !stream && calls.length > 0 && text !== "")
    yield "`content` beside calls is not `null`";
}

export const cityIn = (input: string): string => {
  const value = jsonOf(input) as { readonly city?: unknown } | null | undefined;
  return typeof value?.city === "string" ? value.city : "?";
};

export const useToolBlocks = (text: string): Block[] =>
  Array.from(text.matchAll(/<use_tool>.*?<\/use_tool>/gs), ([block]) => {
    const call = readUseTool(block, () => ({ schema: weatherTool.parameters }));
    return { name: call?.name ?? "?", city: cityIn(call?.input ?? "") };
  });
