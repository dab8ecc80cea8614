import { append } from "../../turn/append.ts";
import { isInstructions } from "../../turn/item.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Fields, Message, Reasoning, Turn } from "../../turn/turn.ts";
import type { Target, WrittenRequest } from "../dialect.ts";
import { ERROR_IN_TEXT, itemNotes, type ItemNotes, withErrorText } from "../shared/content.ts";
import { writeFormat } from "../shared/openai-content.ts";
import { responsesForm } from "../shared/openai-form.ts";
import { writeToolChoice } from "../shared/openai-tools.ts";
import { addFields, writeExtra, writeParams } from "../shared/params.ts";
import { forwardedText, withTools } from "../shared/source-text.ts";
import { othersToolsText, ownToolsText } from "./tools.ts";
import { withKnownAnnotations, withoutMadeId, writeItem } from "./items.ts";
import { LOGPROBS } from "./read-request.ts";
import { responsesTraits } from "./traits.ts";

/** Writes a request: the client's own where nothing is to change, else one from the turn. */
export function writeRequest(turn: Turn<UpstreamName>, to: Target): WrittenRequest {
  const { profile } = to;
  if (to.straight) return { text: forwardedText(turn, to), decisions: [] };
  const { fields, decisions } = writeParams(
    turn,
    { name: "responses", traits: responsesTraits },
    profile,
  );
  const notes = itemNotes(turn);
  const body: Record<string, unknown> = { model: to.model, ...writeItems(turn, profile, notes) };
  append(decisions, notes.decisions);
  if (turn.stream) body.stream = true;
  if (turn.toolChoice !== undefined)
    body.tool_choice = writeToolChoice(turn.toolChoice, responsesForm);
  Object.assign(body, fields);
  if (turn.format !== undefined) {
    const format = writeFormat(turn.format, responsesForm);
    const reason = "the responses dialect has no such format";
    if (format === undefined)
      decisions.push({ path: turn.traits.format.path, action: "dropped", reason });
    else body.text = { ...(fields.text as Fields | undefined), format };
  }
  if (body.top_logprobs !== undefined) include(body, LOGPROBS);
  if (turn.dialect !== "responses") setForOthers(body, profile);
  append(decisions, writeExtra(turn, "responses", body));
  addFields(body, profile);
  const tools = (turn.dialect === "responses" ? ownToolsText : othersToolsText)(turn.tools);
  append(decisions, tools.decisions);
  const text = tools.text === undefined ? JSON.stringify(body) : withTools(body, tools.text);
  return { text, decisions };
}

function writeItems(turn: Turn<UpstreamName>, profile: Profile, notes: ItemNotes): Fields {
  const written: Fields[] = [];
  const isOwn = turn.dialect === "responses";
  let instructions: string | undefined;
  for (const [at, kept] of turn.items.entries()) {
    const item = withoutMadeId(kept);
    if (instructions === undefined && isInstructions(item)) {
      instructions = plainText(item);
      continue;
    }
    notes.at = at;
    if (item.type === "reasoning" && !isOwn && isNothing(item)) continue;
    if (item.type === "reasoning" && profile.reasoning === "none") {
      notes.add(`the ${profile.name} profile takes no past reasoning`);
      continue;
    }
    const shown =
      item.type === "result"
        ? withErrorText(item, () => notes.add(ERROR_IN_TEXT, "reshaped"))
        : item.type === "message"
          ? { ...item, parts: withKnownAnnotations(item.parts, isOwn, notes.add) }
          : item;
    const fields = writeItem(shown, notes.add);
    if (fields !== undefined) written.push(fields);
  }
  return { ...(instructions !== undefined && { instructions }), input: written };
}

/** True for reasoning without text or details, which clients of other dialects send. */
const isNothing = ({ summary, content, details }: Reasoning): boolean =>
  details === undefined && [...summary, ...content].join("").trim() === "";

/** Separates parts by a blank line, unless a part begins with a line break. */
const plainText = (message: Message): string =>
  message.parts.reduce((text, part) => {
    if (part.type !== "text") return text;
    return text === "" || part.text.startsWith("\n") ? text + part.text : `${text}\n\n${part.text}`;
  }, "");

/**
 * Sets fields that clients of other dialects cannot send. Their answers are not stored, so they send
 * sealed reasoning back with its calls. A request without parameters of reasoning may be for a model
 * without reasoning, for which the API refuses to seal any.
 */
function setForOthers(body: Record<string, unknown>, profile: Profile): void {
  const { reasoning, reasons, params } = profile;
  const hasAny = reasons === true || body.reasoning !== undefined;
  if (reasoning === "items" && params.include !== null && hasAny) include(body, SEALS);
  // The API stores answers by default.
  if (params.store === undefined) body.store ??= false;
}

const SEALS = "reasoning.encrypted_content";

function include(body: Record<string, unknown>, what: string): void {
  const others = (body.include as readonly string[] | undefined) ?? [];
  if (!others.includes(what)) body.include = [...others, what];
}
