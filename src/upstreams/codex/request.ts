import { append } from "../../turn/append.ts";
import { responses } from "../../dialects/responses/responses.ts";
import { writeExtra, writeParams } from "../../dialects/shared/params.ts";
import { fieldsOf, listOf, filledText } from "../../dialects/shared/loose.ts";
import type { Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import { isBySystem } from "../../turn/item.ts";
import { itemPath } from "../../turn/path.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Fields, Item, Turn } from "../../turn/turn.ts";
import { writeItem } from "./history.ts";
import { readModel } from "./model.ts";
import { dynamicTools, isReadable } from "./tools.ts";

/** One turn as requests to the app-server. */
export type CodexRequest = {
  readonly model: string;
  /** Params of `thread/start` that depend on the turn. */
  readonly thread: Fields;
  /** The conversation so far, for `thread/inject_items`. */
  readonly items: readonly Fields[];
  /** Params of `turn/start`. */
  readonly options: Fields;
  readonly decisions: readonly Decision[];
};

const MUST_CALL = "Answer by calling at least one of the tools.";
const requiredInWords: Decision = {
  path: "tool_choice",
  action: "changed",
  reason: "Codex cannot be made to call a tool, so the model is asked to in words",
};

/** Writes a turn for Codex. */
export function writeCodexRequest(
  turn: Turn<UpstreamName>,
  name: string,
  profile: Profile,
): CodexRequest {
  const { fields, decisions } = writeParams(turn, responses, profile);
  requireMatch(turn);
  const { model, effort } = readModel(name);
  const { items, base } = writeHistory(turn, decisions);
  const tools = dynamicTools(turn, (reason) =>
    decisions.push({ path: "tools", action: "changed", reason }),
  );
  const developer =
    turn.toolChoice?.type === "required" && tools.length > 0 ? MUST_CALL : undefined;
  if (developer !== undefined) decisions.push(requiredInWords);
  const { include, verbosity, ...params } = fields;
  noteIncludes(include, decisions);
  append(decisions, writeExtra(turn, "codex", {}));
  return {
    model,
    thread: {
      model,
      // Empty, or Codex would add its own.
      baseInstructions: base ?? "",
      ...(developer !== undefined && { developerInstructions: developer }),
      ...(tools.length > 0 && { dynamicTools: tools }),
      ...(verbosity !== undefined && { config: { model_verbosity: verbosity } }),
    },
    items,
    options: {
      summary: "none",
      ...(effort !== undefined && { effort }),
      ...params,
      ...writeFormat(turn, decisions),
    },
    decisions,
  };
}

/**
 * Results of which none belongs to a call are a conversation that was lost on
 * the way: without it the model would answer something else.
 */
function requireMatch(turn: Turn<UpstreamName>): void {
  const sent = listOf(turn.body[turn.traits.conversation]) ?? [];
  const results = sent.map(fieldsOf).map((item) => (isResult(item) ? item : undefined));
  const at = results.findIndex((item) => item !== undefined);
  if (at < 0) return;
  // A call that nobody answered has a result by now too, so only what was sent can say.
  const calls = turn.items.filter((item) => item.type === "call");
  const ids = new Set(calls.flatMap(({ id, itemId }) => [id, itemId ?? id]));
  const answers = (item: Fields | undefined): boolean =>
    // The old form has no ids.
    (item?.role === "function" && calls.length > 0) ||
    [item?.tool_call_id, item?.call_id, item?.id].some((id) => ids.has(filledText(id) ?? ""));
  if (results.some(answers)) return;
  throw new Fault(
    "request.invalid",
    "None of the tool results belongs to a call of the conversation. Send the calls they answer along with them.",
    {
      param: `${turn.traits.conversation}[${at}]`,
      upstreamCode: "tool_outputs_unmatched",
    },
  );
}

const isResult = (item: Fields | undefined): boolean =>
  item?.role === "tool" ||
  item?.role === "function" ||
  filledText(item?.type)?.endsWith("_call_output") === true;

function writeHistory(
  turn: Turn<UpstreamName>,
  decisions: Decision[],
): { readonly items: Fields[]; readonly base: string | undefined } {
  const base = instructionsOf(turn.items[0]);
  const items: Fields[] = [];
  for (const [at, item] of turn.items.entries()) {
    if (at === 0 && base !== undefined) continue;
    const written = writeItem(item, (action, reason) =>
      decisions.push({ path: itemPath(turn, at), action, reason }),
    );
    if (written !== undefined) items.push(written);
  }
  return { items, base };
}

/** A leading system message of text becomes the base instructions, which Codex sends first. */
function instructionsOf(first: Item<UpstreamName> | undefined): string | undefined {
  if (first === undefined || !isBySystem(first)) return undefined;
  const texts = first.parts.map((part) => (part.type === "text" ? part.text : undefined));
  if (texts.some((text) => text === undefined) || texts.join("") === "") return undefined;
  return texts.join("");
}

/** Codex names the schema itself, and takes a description only within it. */
function writeFormat({ format, traits }: Turn<UpstreamName>, decisions: Decision[]): Fields {
  const decide = (action: Decision["action"], reason: string): void =>
    void decisions.push({ path: traits.format.path, action, reason });
  if (format?.type === "opaque") decide("dropped", "Codex has no such format");
  if (format?.type !== "schema") return {};
  if (!isReadable(format.schema))
    throw new Fault(
      "request.unsupported",
      `The schema of \`${traits.format.path}\` is nested deeper than Codex can read; make it flatter.`,
      { param: traits.format.path },
    );
  decide("renamed", "Codex gives the schema a name of its own");
  const { schema, description } = format;
  const hasRoom = typeof schema === "object" && schema.description === undefined;
  if (description === undefined || !hasRoom) return { outputSchema: schema };
  decide("reshaped", "the description is told in the schema");
  return { outputSchema: { ...schema, description } };
}

/** Codex always asks for encrypted reasoning, and for nothing else. */
function noteIncludes(include: unknown, decisions: Decision[]): void {
  for (const one of Array.isArray(include) ? (include as unknown[]) : [])
    if (one !== "reasoning.encrypted_content")
      decisions.push({
        path: "include",
        action: "dropped",
        reason: `Codex cannot be asked for \`${String(one).slice(0, 60)}\``,
      });
}
