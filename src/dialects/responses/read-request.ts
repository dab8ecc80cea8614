import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import { textMessage } from "../../turn/item.ts";
import type { Fields, Item, Params, Turn } from "../../turn/turn.ts";
import {
  fieldsAt,
  invalid,
  optionalFlagAt,
  readModel,
  repairInto,
  textAt,
  wrongType,
  type Repair,
} from "../shared/shape.ts";
import { readParams } from "../shared/params.ts";
import { chatDoor } from "../chat/traits.ts";
import { readFormat } from "../shared/openai-content.ts";
import { responsesForm } from "../shared/openai-form.ts";
import { readToolChoice } from "../shared/openai-tools.ts";
import { readTools } from "./tools.ts";
import { readItem } from "./items.ts";
import { responsesTraits } from "./traits.ts";

/** Fields that are read here and not as parameters. */
const own = new Set([
  "model",
  "input",
  "instructions",
  "tools",
  "tool_choice",
  "text.format",
  "stream",
]);

export const LOGPROBS = "message.output_text.logprobs";

/** Reads a request. `null` is "not set" everywhere. */
export function readRequest(body: Fields): Turn {
  const model = readModel(body.model);
  const { params, extra } = readParams(responsesTraits, body, own);
  const repairs: Decision[] = [];
  const repair = repairInto(repairs);
  const items = readItems(body, params, repair);
  const tools = readTools(body.tools);
  append(repairs, tools.repairs);
  return {
    dialect: "responses",
    traits: responsesTraits,
    model,
    items,
    tools: tools.tools,
    toolChoice: readToolChoice(body.tool_choice, "tool_choice", responsesForm, repair),
    format:
      body.text == null
        ? undefined
        : readFormat(
            fieldsAt(body.text, "text", "an object").format,
            "text.format",
            responsesForm,
            repair,
          ),
    params: withLogprobs(params),
    stream: optionalFlagAt(body.stream, "stream") === true,
    usageWanted: true,
    extra: { dialect: "responses", fields: extra },
    repairs,
    body,
  };
}

/**
 * The instructions come first, as a system message that is marked: every
 * dialect has that role, and they are replaced with each request.
 */
function readItems(body: Fields, params: Params, repair: Repair): Item[] {
  const items: Item[] = [];
  const { input, instructions: given } = body;
  const instructions = given == null ? "" : textAt(given, "instructions");
  if (instructions !== "")
    items.push({ ...textMessage("system", instructions), instructions: true });
  if (input === undefined || input === null) {
    if (!isElsewhere(params)) throw invalid("input", `is missing; ${remedyFor(body)}`);
    return items;
  }
  if (typeof input === "string") items.push(textMessage("user", input));
  else if (Array.isArray(input))
    for (let at = 0; at < input.length; at++)
      items.push(readItem(input[at], { path: `input[${at}]`, repair }));
  else throw wrongType(input, "input", "a string or an array");
  return items;
}

const remedyFor = ({ messages }: Fields): string =>
  messages === undefined
    ? "it must be a string or an array of items"
    : `a request with \`messages\` goes to ${chatDoor}`;

/** True if the input may be stored at the upstream. */
const isElsewhere = (params: Params): boolean =>
  params.previousResponse !== undefined ||
  params.conversation !== undefined ||
  params.prompt !== undefined;

/**
 * Joins the two parameters of logprobs: `include` asks for them, and `top_logprobs` sets the number
 * of alternatives. Other dialects have one parameter.
 */
function withLogprobs({ include, logprobs, ...params }: Params): Params {
  const others = include?.filter((entry) => entry !== LOGPROBS);
  const isWanted = others?.length !== include?.length;
  const count = isWanted ? (logprobs ?? 0) : logprobs === 0 ? undefined : logprobs;
  return {
    ...params,
    ...(others !== undefined && others.length > 0 && { include: others }),
    ...(count !== undefined && { logprobs: count }),
  };
}
