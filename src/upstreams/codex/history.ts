/** Writes an item of a conversation as Codex takes it into a thread. */

import { ERROR_IN_TEXT, withErrorText } from "../../dialects/shared/failed-result.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields, Item, Message, Part, Result } from "../../turn/turn.ts";

/** Records what Codex cannot take of an item. */
export type Decide = (action: "dropped" | "changed" | "reshaped", reason: string) => void;

/** An item as `thread/inject_items` takes it; undefined where Codex has no such item. */
export function writeItem(item: Item<UpstreamName>, decide: Decide): Fields | undefined {
  switch (item.type) {
    case "message":
      return writeMessage(item, decide);
    case "reasoning": {
      const { summary, content, encrypted } = item;
      return {
        type: "reasoning",
        summary: summary.map((text) => ({ type: "summary_text", text })),
        ...(content.length > 0 && {
          content: content.map((text) => ({ type: "reasoning_text", text })),
        }),
        ...(encrypted !== undefined && { encrypted_content: encrypted }),
      };
    }
    case "call":
      return { type: "function_call", call_id: item.id, name: item.name, arguments: item.input };
    case "result": {
      const told = withErrorText(item, () => decide("reshaped", ERROR_IN_TEXT));
      const output = writeOutput(told, decide);
      return { type: "function_call_output", call_id: item.call, output };
    }
    case "opaque":
      decide("dropped", "Codex has no such item");
      return undefined;
    default:
      return item satisfies never;
  }
}

function writeMessage({ role, parts, phase }: Message, decide: Decide): Fields | undefined {
  const content = parts.map((part) => writePart(part, role === "assistant", decide));
  const written = content.filter((part) => part !== undefined);
  if (parts.length === 0) decide("dropped", "Codex takes no message without content");
  if (written.length === 0) return undefined;
  return {
    type: "message",
    // Codex drops messages of role `system` silently.
    role: role === "system" ? "developer" : role,
    content: written,
    ...(phase !== undefined && { phase }),
  };
}

function writeOutput({ parts }: Result, decide: Decide): unknown {
  const [first] = parts;
  if (first === undefined) return "";
  if (parts.length === 1 && first.type === "text") return first.text;
  return parts.map((part) => writePart(part, false, decide)).filter((part) => part !== undefined);
}

function writePart(part: Part, isOutput: boolean, decide: Decide): Fields | undefined {
  switch (part.type) {
    case "text":
      return { type: isOutput ? "output_text" : "input_text", text: part.text };
    case "refusal":
      decide("changed", "Codex takes no refusals back, so this one is sent as text");
      return { type: isOutput ? "output_text" : "input_text", text: part.text };
    case "image":
      return writeImage(part, decide);
    case "file":
    case "audio":
    case "opaque":
      decide("dropped", `Codex takes no ${part.type === "opaque" ? "such" : part.type} content`);
      return undefined;
    default:
      return part satisfies never;
  }
}

function writeImage(
  { url, detail }: Extract<Part, { type: "image" }>,
  decide: Decide,
): Fields | undefined {
  if (url?.startsWith("data:") !== true) {
    decide("dropped", "Codex takes images only as data URLs");
    return { type: "input_text", text: "(Here was image that cannot be shown.)" };
  }
  if (detail === "low") decide("changed", "Codex has no low detail for images");
  const kept = detail === undefined || detail === "low" ? undefined : detail;
  return { type: "input_image", image_url: url, ...(kept !== undefined && { detail: kept }) };
}
