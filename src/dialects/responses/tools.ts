import { z } from "zod";
import type { Decision } from "../../turn/decision.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { AnyName, UpstreamName } from "../../turn/names.ts";
import type { SharedText } from "../../turn/shared-text.ts";
import type { Fields, Tool } from "../../turn/turn.ts";
import { parametersOf } from "../shared/json-schema.ts";
import { given } from "../shared/loose.ts";
import { flatFormat, readTool, type ToolForm } from "../shared/read-tool.ts";
import { collectRepairs } from "../shared/repairs.ts";
import { shaped } from "../shared/shape.ts";
import { ownExtra, silently, type Report } from "./fields.ts";

export const toolForm: ToolForm = {
  dialect: "responses",
  nested: false,
  otherForm: "the Responses API does not nest what a tool is",
};

/** What a list of tools holds, and what had to be repaired to read it. */
type ReadTools = { readonly tools: readonly Tool[]; readonly repairs: readonly Decision[] };

const list = z.array(z.unknown());
const none: ReadTools = { tools: [], repairs: [] };

export const readTools = (raw: unknown): ReadTools =>
  raw === undefined || raw === null ? none : readList(raw);

/** The body reader gives the same array for the same text. */
const readList = memoizeByIdentity((raw: object): ReadTools => {
  const { add, decisions } = collectRepairs();
  const tools = shaped(list, raw, "tools").map((entry, at) =>
    readTool(entry, `tools[${at}]`, toolForm, add),
  );
  return { tools, repairs: decisions() };
});

/** How a declaration differs by whom it is for. */
type Audience = {
  /** What a function means that does not say whether it is strict. */
  readonly strict?: boolean | undefined;
  /** Every field that readers of answers want, and no secrets. */
  readonly echo?: boolean | undefined;
  readonly report: Report;
};

function writeTool<Name extends AnyName>(tool: Tool<Name>, to: Audience): Fields | undefined {
  switch (tool.type) {
    case "function":
      return {
        type: "function",
        name: tool.name,
        ...(to.echo === true
          ? { description: tool.description ?? null, parameters: parametersOf(tool.schema) ?? null }
          : given({ description: tool.description, parameters: parametersOf(tool.schema) })),
        ...given({ strict: tool.strict ?? to.strict }),
        ...ownExtra(tool.extra, to.report),
      };
    case "custom":
      return {
        type: "custom",
        name: tool.name,
        ...given({
          description: tool.description,
          format: tool.format && flatFormat(tool.format),
        }),
        ...ownExtra(tool.extra, to.report),
      };
    case "namespace":
      return {
        type: "namespace",
        name: tool.name,
        description: tool.description ?? "",
        tools: tool.tools.map((inner) => writeTool(inner, to)).filter((one) => one !== undefined),
        ...ownExtra(tool.extra, to.report),
      };
    case "builtin":
      if (tool.dialect !== "responses") {
        to.report(`\`${tool.name}\` is a tool that only the ${tool.dialect} dialect has`);
        return undefined;
      }
      return to.echo === true ? withoutSecrets(tool.raw) : tool.raw;
    default:
      return tool satisfies never;
  }
}

/** The tools that an item declares. */
export const writeItemTools = (tools: readonly Tool[], report: Report): Fields[] =>
  tools.map((tool) => writeTool(tool, { report })).filter((tool) => tool !== undefined);

/** Keys to other servers are not repeated, nor does the API itself. */
function withoutSecrets(raw: Fields): Fields {
  if (raw.type !== "mcp") return raw;
  const { authorization: _, headers: __, ...shown } = raw;
  return shown;
}

type Written = { readonly text: string; readonly reasons: readonly string[] };
type WriteTools = (tools: readonly Tool<UpstreamName>[]) => Written;

const toolsWriter = (strict?: boolean): WriteTools =>
  memoizeByIdentity((tools) => {
    const reasons: string[] = [];
    const report = (reason: string): void => void reasons.push(reason);
    const fields = tools.map((tool) => writeTool(tool, { strict, report }));
    return { text: JSON.stringify(fields.filter((tool) => tool !== undefined)), reasons };
  });

/** The tools as JSON text for a request of a client of this dialect. */
export const ownToolsText = toolsWriter();
/** The same for a client of another: a function that does not say so is strict here and nowhere else. */
export const othersToolsText = toolsWriter(false);

/** The tools as an answer repeats them. */
export const echoText = memoizeByIdentity((tools: readonly Tool[]): SharedText => {
  const to = { strict: true, echo: true, report: silently };
  return { text: JSON.stringify(tools.map((tool) => writeTool(tool, to))) };
});
