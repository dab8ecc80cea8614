import { clientName } from "../../turn/names.ts";
import type { Call, Fields, Result } from "../../turn/turn.ts";
import { applyPatchKind } from "./apply-patch.ts";
import { bashKind } from "./bash.ts";
import { customKind } from "./custom.ts";
import { type Kind, whole } from "./kind.ts";
import { localShellKind } from "./local-shell.ts";
import { memoryKind } from "./memory.ts";
import { shellKind } from "./shell.ts";
import { textEditorKind } from "./client-kinds.ts";
import { toolSearchKind } from "./tool-search.ts";

/**
 * Searching is the provider's work, and clients expect to see only that it was
 * done. Where a profile asks for a stand-in all the same, the client itself is
 * to search: it gets a plain function call.
 */
const webSearchKind: Kind = {
  kind: "web_search",
  aliases: /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/,
  standIn: {
    restoredAs: "function",
    declare: () => ({
      description: "Searches the web and gives back titles, addresses and excerpts.",
      schema: {
        type: "object",
        properties: { query: { type: "string", description: "What to search for." } },
        required: ["query"],
        additionalProperties: false,
      },
      losses: ["the client has to run the search itself"],
    }),
    encode: (input) => input,
    decoder: () => whole((text) => text),
  },
};

/**
 * Clicks and keys on a screen. It takes a model trained for it, which the
 * provider answers for; a function in its place would promise what is not there.
 */
const computerUseKind: Kind = {
  kind: "computer_use",
  aliases: /^computer(_use)?(_preview)?(_\d{4}_\d{2}_\d{2})?$/,
};

/** Runs code in a container of the provider's. Only it can do so. */
const codeInterpreterKind: Kind = { kind: "code_interpreter" };

/** Draws with a model of the provider's. Only it can do so. */
const imageGenerationKind: Kind = { kind: "image_generation" };

/** Searches documents that are stored with the provider. Only it can do so. */
const fileSearchKind: Kind = { kind: "file_search" };

/** What every upstream with tools has; its own form is what others stand in as. */
const functionKind: Kind = { kind: "function" };

/** Calls an MCP server from the provider's side, with credentials the provider holds. Only it can do so. */
const mcpKind: Kind = { kind: "mcp", ownCall };

function ownCall(item: Fields): readonly [Call, Result] | undefined {
  const { id, name, server_label: server, arguments: input, output } = item;
  if (typeof id !== "string" || typeof name !== "string") return undefined;
  if (typeof output !== "string" || output === "") return undefined;
  return [
    {
      type: "call",
      id,
      kind: "function",
      name: clientName(name),
      namespace: typeof server === "string" ? server : undefined,
      input: typeof input === "string" ? input : "",
    },
    { type: "result", call: id, kind: "function", parts: [{ type: "text", text: output }] },
  ];
}

/** Tools that only the provider who has them can run, and that one dialect has a form for. */
const hostedKinds: readonly Kind[] = [
  "web_fetch",
  "code_execution",
  "tool_search_tool",
  "mcp_toolset",
  "advisor",
  // A model trained for it is part of these two.
  "computer_toolset",
  "browser_toolset",
].map((kind) => ({ kind, isDialectBound: true }));

/** Every kind of tool we know. A namespace is no kind of tool: it only holds some. */
const kinds: readonly Kind[] = [
  functionKind,
  customKind,
  localShellKind,
  shellKind,
  applyPatchKind,
  toolSearchKind,
  webSearchKind,
  fileSearchKind,
  mcpKind,
  codeInterpreterKind,
  computerUseKind,
  imageGenerationKind,
  bashKind,
  textEditorKind,
  memoryKind,
  ...hostedKinds,
];

const byName = new Map(kinds.map((kind) => [kind.kind, kind]));

/** The kind that goes by a name, be it an older or a dated one. */
export const kindOf = (name: string): Kind | undefined =>
  byName.get(name) ?? kinds.find(({ aliases }) => aliases?.test(name) === true);
