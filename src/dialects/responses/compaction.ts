/** Conversations that are compacted: the user's words stay, a summary stands for the rest. */

import type { AnyName } from "../../turn/names.ts";
import type { Fields, Item, Message, Part, Turn } from "../../turn/turn.ts";
import type { CompactionForm } from "../dialect.ts";
import { writeItem } from "./items.ts";
import { responsesDoor } from "./route.ts";
import { writeUsage } from "./resource.ts";

const PROMPT = `Summarize the conversation above, so that it can be continued from your summary and the user's own messages alone. Whoever continues it sees nothing else of it: no answers, no calls of tools, no results.

State:
- what the user wants, with every constraint and preference that still holds;
- what was done, decided and found out, and why; keep names, paths, identifiers, numbers and code that are still needed exactly as they are;
- what of the results of tools still matters;
- what is left to do, and what comes next.

Write the summary alone, without an introduction.`;

const HEADING = "Summary of the conversation up to here:\n\n";

export const compaction: CompactionForm = {
  route: `${responsesDoor}/compact`,
  ask: (turn) => ({
    ...turn,
    items: [...turn.items.flatMap(asText), message("user", PROMPT)],
    // Calls and results are told as text: some upstreams refuse them where no tools are declared.
    tools: [],
    toolChoice: undefined,
    format: undefined,
    stream: false,
  }),
  sealIn: ({ dialect, raw }) =>
    dialect === "responses" &&
    raw.type === "compaction" &&
    typeof raw.encrypted_content === "string"
      ? raw.encrypted_content
      : undefined,
  opened: (summary) => message("assistant", HEADING + summary),
  writeAnswer({ id, created, turn, seal, usage, newId }) {
    const sealed = { id: newId("cmp"), type: "compaction", encrypted_content: seal };
    return JSON.stringify({
      id,
      object: "response.compaction",
      created_at: created,
      output: [...wordsOfUser(turn, newId), sealed],
      usage: writeUsage(usage),
    });
  },
};

const message = (role: Message["role"], text: string): Message => ({
  type: "message",
  role,
  parts: [{ type: "text", text }],
});

function asText<Name extends AnyName>(item: Item<Name>): readonly Message[] {
  switch (item.type) {
    case "message":
      return [item];
    case "call":
      return [message("assistant", `[call ${item.id} of ${item.name}: ${item.input}]`)];
    case "result":
      return [message("user", `[result of call ${item.call}: ${partsText(item.parts)}]`)];
    case "reasoning":
    case "opaque":
      return [];
    default:
      return item satisfies never;
  }
}

const partsText = (parts: readonly Part[]): string =>
  parts
    .map((part) => (part.type === "text" || part.type === "refusal" ? part.text : `[${part.type}]`))
    .join("\n");

const wordsOfUser = ({ items }: Turn, newId: (prefix: string) => string): readonly Fields[] =>
  items.flatMap((item) => {
    if (item.type !== "message" || item.role !== "user") return [];
    const written = writeItem(item, () => {});
    return written === undefined
      ? []
      : [{ ...written, id: item.id ?? newId("msg"), type: "message", status: "completed" }];
  });
