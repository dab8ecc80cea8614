import { applyPatchKind } from "./apply-patch.ts";
import { bashKind } from "./bash.ts";
import { codeInterpreterKind } from "./code-interpreter.ts";
import { computerUseKind } from "./computer-use.ts";
import { customKind } from "./custom.ts";
import { fileSearchKind } from "./file-search.ts";
import { functionKind } from "./function.ts";
import { hostedKinds } from "./hosted.ts";
import { imageGenerationKind } from "./image-generation.ts";
import type { Kind } from "./kind.ts";
import { localShellKind } from "./local-shell.ts";
import { mcpKind } from "./mcp.ts";
import { memoryKind } from "./memory.ts";
import { shellKind } from "./shell.ts";
import { textEditorKind } from "./text-editor.ts";
import { toolSearchKind } from "./tool-search.ts";
import { webSearchKind } from "./web-search.ts";

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
