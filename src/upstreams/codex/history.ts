import type { UpstreamName } from "../../turn/names.ts";
import type { Fields, Item, Message, Part, Result } from "../../turn/turn.ts";

/** Hears what of an item cannot be said to Codex. */
export type Lose = (action: "dropped" | "changed", reason: string) => void;

/** An item as `thread/inject_items` takes it; nothing if it cannot be said. */
export function writeItem(item: Item<UpstreamName>, lose: Lose): Fields | undefined {
  switch (item.type) {
    case "message":
      return writeMessage(item, lose);
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
    case "result":
      return { type: "function_call_output", call_id: item.call, output: writeOutput(item, lose) };
    case "opaque":
      lose("dropped", "Codex has no such item");
      return undefined;
    default:
      return item satisfies never;
  }
}

function writeMessage({ role, parts, phase }: Message, lose: Lose): Fields | undefined {
  const content = parts.map((part) => writePart(part, role === "assistant", lose));
  const said = content.filter((part) => part !== undefined);
  if (parts.length === 0) lose("dropped", "Codex takes no message without content");
  if (said.length === 0) return undefined;
  return {
    type: "message",
    // It drops what the system says without a word.
    role: role === "system" ? "developer" : role,
    content: said,
    ...(phase !== undefined && { phase }),
  };
}

function writeOutput({ parts }: Result, lose: Lose): unknown {
  const [first] = parts;
  if (first === undefined) return "";
  if (parts.length === 1 && first.type === "text") return first.text;
  return parts.map((part) => writePart(part, false, lose)).filter((part) => part !== undefined);
}

function writePart(part: Part, own: boolean, lose: Lose): Fields | undefined {
  switch (part.type) {
    case "text":
      return { type: own ? "output_text" : "input_text", text: part.text };
    case "refusal":
      lose("changed", "Codex takes no refusals back, so this one is sent as text");
      return { type: own ? "output_text" : "input_text", text: part.text };
    case "image":
      return writeImage(part, lose);
    case "file":
    case "audio":
    case "opaque":
      lose("dropped", `Codex takes no ${part.type === "opaque" ? "such" : part.type} content`);
      return undefined;
    default:
      return part satisfies never;
  }
}

function writeImage(
  { url, detail }: Extract<Part, { type: "image" }>,
  lose: Lose,
): Fields | undefined {
  if (url?.startsWith("data:") !== true) {
    lose("dropped", "Codex takes images only as data URLs");
    return { type: "input_text", text: "(Here was image that cannot be shown.)" };
  }
  if (detail === "low") lose("changed", "Codex has no low detail for images");
  const kept = detail === undefined || detail === "low" ? undefined : detail;
  return { type: "input_image", image_url: url, ...(kept !== undefined && { detail: kept }) };
}
