import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Fields, Item, Message, Turn } from "../../turn/turn.ts";
import type { Target, Written } from "../dialect.ts";
import { addFields, writeExtra, writeParams } from "../params.ts";
import { withOwnTools, withTools } from "../tools-text.ts";
import { writeChoice } from "./choice.ts";
import { writeFormat } from "./format.ts";
import { writeItem } from "./items.ts";
import { LOGPROBS } from "./read-request.ts";
import { toolsText } from "./tools.ts";

type Drop = (path: string, reason: string) => void;

/** Writes a request: the client's own where nothing is to change, else one from the turn. */
export function writeRequest(turn: Turn<UpstreamName>, to: Target): Written {
  const { profile } = to;
  if (to.straight) return { text: straightText(turn.body, to), decisions: [] };
  const { fields, decisions } = writeParams(turn, "responses", profile);
  const drop: Drop = (path, reason) => {
    if (!decisions.some((said) => said.path === path && said.reason === reason))
      decisions.push({ path, action: "dropped", reason });
  };
  const body: Record<string, unknown> = { model: to.model, ...writeItems(turn, profile, drop) };
  if (turn.stream) body.stream = true;
  if (turn.choice !== undefined) body.tool_choice = writeChoice(turn.choice);
  Object.assign(body, fields, writeText(turn, profile, fields, drop));
  askForLogprobs(body);
  keepUnstored(body, turn, profile);
  decisions.push(...writeExtra(turn, "responses", body));
  addFields(body, profile);
  return { text: withWrittenTools(body, turn, drop), decisions };
}

function straightText(asked: Fields, { profile, model }: Target): string {
  const { tools, ...others } = asked;
  const body: Record<string, unknown> = { ...others, model };
  addFields(body, profile);
  return withOwnTools(body, tools);
}

function withWrittenTools(body: Fields, turn: Turn<UpstreamName>, drop: Drop): string {
  if (turn.tools.length === 0) return JSON.stringify(body);
  // Where nothing is said a function is strict here and nowhere else.
  const { text, reasons } = toolsText(turn.tools, turn.dialect === "responses" ? undefined : false);
  for (const reason of reasons) drop("tools", reason);
  return withTools(body, text);
}

function writeItems(turn: Turn<UpstreamName>, profile: Profile, drop: Drop): Fields {
  const written: Fields[] = [];
  let instructions: string | undefined;
  const before = turn.items[0] !== undefined && isInstructions(turn.items[0]) ? 1 : 0;
  for (const [at, item] of turn.items.entries()) {
    const path = turn.dialect === "responses" ? `input[${at - before}]` : "messages";
    if (item.type === "message" && isInstructions(item) && instructions === undefined) {
      instructions = plainText(item);
      continue;
    }
    if (item.type === "reasoning" && profile.reasoning === "none") {
      drop(path, `the ${profile.name} profile takes no past reasoning`);
      continue;
    }
    const fields = writeItem(item, (reason) => drop(path, reason));
    if (fields !== undefined) written.push(fields);
  }
  return { ...(instructions !== undefined && { instructions }), input: written };
}

const isInstructions = (item: Item<UpstreamName>): boolean =>
  item.type === "message" && item.instructions === true;

const plainText = (message: Message): string =>
  message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

function writeText(turn: Turn<UpstreamName>, profile: Profile, fields: Fields, drop: Drop): Fields {
  if (turn.format === undefined) return {};
  const path = turn.dialect === "responses" ? "text.format" : "response_format";
  const { type } = turn.format;
  if (type !== "opaque" && type !== "text" && !profile.formats.includes(type)) {
    drop(path, `the ${profile.name} profile has no such format`);
    return {};
  }
  const format = writeFormat(turn.format);
  if (format === undefined) {
    drop(path, "the responses dialect has no such format");
    return {};
  }
  return { text: { ...(fields.text as Fields | undefined), format } };
}

function askForLogprobs(body: Record<string, unknown>): void {
  if (body.top_logprobs === undefined) return;
  const others = (body.include as readonly string[] | undefined) ?? [];
  body.include = [...others, LOGPROBS];
}

/** An answer is kept at the upstream unless it is told not to; other dialects' clients expect the opposite. */
function keepUnstored(
  body: Record<string, unknown>,
  turn: Turn<UpstreamName>,
  profile: Profile,
): void {
  if (turn.dialect !== "responses" && profile.params.store === undefined) body.store ??= false;
}
