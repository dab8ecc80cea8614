import { requiredIn } from "../../schema/keywords.ts";
import { isFields } from "../../turn/json.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { CustomTool, Fields, FunctionTool, Tool } from "../../turn/turn.ts";
import { isFreeText } from "./hints.ts";
import { typesOf } from "./schema.ts";
import { heard, meaningful, named, type Named } from "./words.ts";

/** A tool that can be called, with the group it stands in. */
export type Callable = {
  readonly tool: FunctionTool<UpstreamName> | CustomTool<UpstreamName>;
  readonly namespace?: string | undefined;
};

/** A call to be made: of which tool, and the words that it is about. */
export type Wish = { readonly callable: Callable; readonly about: Named };

export function callables(tools: readonly Tool<UpstreamName>[], namespace?: string): Callable[] {
  return tools.flatMap((tool) => {
    if (tool.type === "namespace") return callables(tool.tools, tool.name);
    return tool.type === "builtin" ? [] : [{ tool, namespace }];
  });
}

/** What a text must share with a tool before the tool is called unasked. */
const FITTING = 1;
/** A word of the tool's own name. */
const CLEAR = 3;
const MOST = 16;

/**
 * The calls that a text wishes for. Each clause goes to the tool it shares most
 * words with; a clause that fits none belongs to the one before. A clause that
 * lists several things for a tool that takes one becomes several calls.
 */
export function wishes(said: string, offered: readonly Callable[], must: boolean): Wish[] {
  const text = heard(said);
  const weigh = scale(offered);
  const groups: { callable: Callable; from: number; to: number }[] = [];
  for (const { from, to } of clauses(text)) {
    const { callable, score } = weigh(text.slice(from, to));
    const last = groups.at(-1);
    // The first clause may fit loosely; to bring in another tool, its name must be said.
    const fitting = callable !== undefined && score >= (last === undefined ? FITTING : CLEAR);
    const more =
      fitting &&
      (last === undefined ||
        last.callable !== callable ||
        namedFor(callable, text.slice(from, to)).subjects.length > 0);
    if (more) groups.push({ callable, from: last === undefined ? 0 : from, to });
    else if (last !== undefined) last.to = to;
  }
  if (groups.length === 0) {
    const [lone] = offered.length === 1 ? offered.filter((one) => suits(one, text)) : [];
    const callable = weigh(text).callable ?? lone ?? (must ? offered[0] : undefined);
    if (callable !== undefined) groups.push({ callable, from: 0, to: text.length });
  }
  return groups
    .flatMap(({ callable, from, to }) => {
      const about = namedFor(callable, text.slice(from, to).trim());
      const bare = about.subjects.length === 0 && about.numbers.length === 0;
      // "Call this and that for Paris": what was named once is meant for both.
      return each(callable, bare ? { ...namedFor(callable, text), text: about.text } : about);
    })
    .slice(0, MOST);
}

const namedFor = ({ tool, namespace }: Callable, text: string): Named =>
  named(text, meaningful(`${tool.name} ${namespace ?? ""}`));

/** Whether a tool that shares no word with a text could still do something with what it names. */
function suits(callable: Callable, text: string): boolean {
  // A greeting or thanks is for the model.
  if (meaningful(text).size === 0) return false;
  const { tool } = callable;
  if (tool.type === "custom") return true;
  const { numbers, subjects, proper } = namedFor(callable, text);
  // Scripts without capitals and blanks: there is no telling, so it is taken for a name.
  const named = /\p{Lo}/u.test(text) || (proper && subjects.length > 0);
  const parameters = isFields(tool.schema) ? Object.entries(propertiesOf(tool.schema)) : [];
  return parameters.some(([name, schema]) => {
    const types = isFields(schema) ? (typesOf(schema) ?? []) : [];
    if (types.includes("string")) return isFreeText(name) || named;
    return numbers.length > 0 && (types.includes("number") || types.includes("integer"));
  });
}

/** Scores tools against a text: rare words and names weigh more than common ones and prose. */
function scale(offered: readonly Callable[]) {
  const cards = offered.map((callable) => ({ callable, words: vocabulary(callable) }));
  const spread = new Map<string, number>();
  for (const { words } of cards)
    for (const word of words.keys()) spread.set(word, (spread.get(word) ?? 0) + 1);
  return (text: string): { callable: Callable | undefined; score: number } => {
    const said = meaningful(text);
    let best: { callable: Callable | undefined; score: number } = { callable: undefined, score: 0 };
    for (const { callable, words } of cards) {
      let score = 0;
      for (const word of said) score += (words.get(word) ?? 0) / Math.sqrt(spread.get(word) ?? 1);
      if (score > best.score && score >= 0.5) best = { callable, score };
    }
    return best;
  };
}

/** The words of a tool and what each is worth. */
function vocabulary({ tool, namespace }: Callable): Map<string, number> {
  const words = new Map<string, number>();
  const learn = (text: string, worth: number): void => {
    for (const word of meaningful(text)) words.set(word, Math.max(words.get(word) ?? 0, worth));
  };
  learn(tool.name, CLEAR);
  learn(namespace ?? "", 1);
  learn(tool.description ?? "", 1);
  if (tool.type === "custom" || !isFields(tool.schema)) return words;
  for (const [name, schema] of Object.entries(propertiesOf(tool.schema))) {
    learn(name, 1);
    if (isFields(schema) && typeof schema.description === "string") learn(schema.description, 0.5);
    if (isFields(schema) && Array.isArray(schema.enum)) learn(schema.enum.join(" "), 1);
  }
  return words;
}

const propertiesOf = (schema: Fields) => (isFields(schema.properties) ? schema.properties : {});

function clauses(text: string): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  let from = 0;
  for (const { 0: joint, index } of text.matchAll(
    /[.?!;\n]+(?=\s|$)|,\s*(?:and|then|also)\b|,|\s(?:and|then|also|plus)\s/giu,
  )) {
    if (index > from) found.push({ from, to: index });
    from = index + joint.length;
  }
  if (from < text.length) found.push({ from, to: text.length });
  return found;
}

/** One wish for each thing listed, where the tool takes one thing at a time. */
function each(callable: Callable, about: Named): Wish[] {
  const { tool } = callable;
  const takes = tool.type === "custom" ? undefined : onlyParameter(tool);
  const things = takes?.type === "number" ? about.numbers : about.listed ? about.subjects : [];
  // "cats and dogs" is one thing to search for, "Paris and Rome" are two.
  const apart = takes?.type === "number" || about.proper || !isFreeText(takes?.name ?? "");
  if (takes === undefined || things.length < 2 || !apart) return [{ callable, about }];
  return things.map((thing) => ({ callable, about: aboutOne(about, thing) }));
}

const aboutOne = (about: Named, thing: string | number): Named =>
  typeof thing === "number"
    ? { ...about, numbers: [thing] }
    : { ...about, subjects: [thing], quoted: [], listed: false, single: thing };

/** The one parameter that must be given; none if there are more, or it takes a list. */
function onlyParameter(
  tool: FunctionTool<UpstreamName>,
): { name: string; type: "string" | "number" } | undefined {
  if (!isFields(tool.schema)) return undefined;
  const properties = propertiesOf(tool.schema);
  const required = requiredIn(tool.schema);
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
  const open = names.filter((name) => {
    const schema = properties[name];
    return isFields(schema) && !Array.isArray(schema.enum) && !("const" in schema);
  });
  const [name] = open;
  if (name === undefined || open.length > 1) return undefined;
  const schema = properties[name];
  const type = isFields(schema) ? typesOf(schema)?.[0] : undefined;
  if (type === "string") return { name, type };
  return type === "number" || type === "integer" ? { name, type: "number" } : undefined;
}
