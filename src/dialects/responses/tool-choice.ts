import { z } from "zod";
import { clientName, type AnyName } from "../../turn/names.ts";
import type { ToolChoice, Fields, ToolRef } from "../../turn/turn.ts";
import { chooseTool } from "../shared/choose-tool.ts";
import { given } from "../shared/loose.ts";
import type { Repair } from "../shared/repairs.ts";
import { invalid, shaped } from "../shared/shape.ts";

const words = z.enum(["auto", "none", "required"]);
const choice = z.union([words, z.looseObject({ type: z.string() })]);
const allowed = z.looseObject({
  mode: z.enum(["auto", "required"]).nullish(),
  tools: z.array(z.looseObject({ type: z.string() })),
});
const named = z.looseObject({ name: z.string().min(1), namespace: z.string().nullish() });
const served = z.looseObject({ server_label: z.string(), name: z.string().nullish() });

/** Reads `tool_choice` in every form of the API, and in Chat's nested ones. Null is none of them. */
export function readToolChoice(raw: unknown, repair: Repair): ToolChoice | undefined {
  if (raw === undefined) return undefined;
  if (raw === null)
    throw invalid("tool_choice", "must name a choice; leave it out for the default, `auto`");
  const read = shaped(choice, raw, "tool_choice");
  if (typeof read === "string") return { type: read };
  const word = words.safeParse(read.type);
  const repairNested = (): void =>
    repair("tool_choice", "the Responses API does not nest a choice");
  if (word.success) {
    repairNested();
    return { type: word.data };
  }
  if (read.type !== "allowed_tools") return chooseTool(readRef(read, "tool_choice", repairNested));
  const isNested = typeof read.allowed_tools === "object" && read.allowed_tools !== null;
  if (isNested) repairNested();
  const path = isNested ? "tool_choice.allowed_tools" : "tool_choice";
  const { mode, tools } = shaped(allowed, isNested ? read.allowed_tools : read, path);
  if (tools.length === 0)
    throw invalid(`${path}.tools`, 'must name a tool; to allow none, choose "none"');
  return {
    type: "allowed",
    mode: mode ?? "auto",
    tools: tools.map((tool, at) => readRef(tool, `${path}.tools[${at}]`, repairNested)),
  };
}

function readRef(raw: Fields, path: string, repair: () => void): ToolRef {
  const kind = String(raw.type);
  if (kind === "mcp") {
    const { server_label: server, name } = shaped(served, raw, path);
    // One tool of a server is to it what a member is to its namespace.
    return name == null
      ? { kind, name: clientName(server) }
      : { kind, name: clientName(name), namespace: server };
  }
  if (kind === "namespace") return { kind, name: clientName(shaped(named, raw, path).name) };
  if (kind !== "function" && kind !== "custom") return { kind, name: clientName(kind) };
  const inner = raw[kind];
  const isNested = typeof inner === "object" && inner !== null;
  if (isNested) repair();
  const { name, namespace } = shaped(
    named,
    isNested ? inner : raw,
    isNested ? `${path}.${kind}` : path,
  );
  return { kind, name: clientName(name), ...given({ namespace }) };
}

export function writeToolChoice<Name extends AnyName>(toolChoice: ToolChoice<Name>): unknown {
  switch (toolChoice.type) {
    case "tool":
      return writeRef(toolChoice.tool);
    case "allowed":
      return {
        type: "allowed_tools",
        mode: toolChoice.mode,
        tools: toolChoice.tools.map(writeRef),
      };
    default:
      return toolChoice.type;
  }
}

function writeRef<Name extends AnyName>({ kind, name, namespace }: ToolRef<Name>): Fields {
  if (kind === "mcp")
    return namespace === undefined
      ? { type: "mcp", server_label: name }
      : { type: "mcp", server_label: namespace, name };
  if (kind !== "function" && kind !== "custom") return { type: kind };
  return { type: kind, name, ...given({ namespace }) };
}
