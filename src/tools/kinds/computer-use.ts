import { isObject, jsonOf, whole, type Kind } from "./kind.ts";

/** Clicks and keys on a screen of the client's; a screenshot comes back. */
export const computerUseKind: Kind = {
  kind: "computer_use",
  aliases: /^computer(_use)?(_preview)?(_\d{4}_\d{2}_\d{2})?$/,
  standIn: {
    declare(tool) {
      const { display_width: width, display_height: height } =
        tool.type === "builtin" ? tool.raw : {};
      const size =
        width === undefined ? "" : ` It is ${String(width)} by ${String(height)} pixels.`;
      const whole = { type: "integer" };
      return {
        description: `Does one thing on the user's screen and gives back a screenshot.${size}`,
        schema: {
          type: "object",
          properties: {
            action: {
              type: "object",
              properties: {
                type: {
                  type: "string",
                  enum: "click double_click drag keypress move screenshot scroll type wait".split(
                    " ",
                  ),
                },
                x: whole,
                y: whole,
                button: { type: "string", enum: ["left", "right", "wheel", "back", "forward"] },
                keys: { type: "array", items: { type: "string" } },
                text: { type: "string" },
                scroll_x: whole,
                scroll_y: whole,
                path: {
                  type: "array",
                  items: {
                    type: "object",
                    properties: { x: whole, y: whole },
                    required: ["x", "y"],
                  },
                },
              },
              required: ["type"],
            },
          },
          required: ["action"],
          additionalProperties: false,
        },
        losses: ["the model may not have been trained to use a screen"],
      };
    },
    encode(input) {
      const action = jsonOf(input);
      return isObject(action) ? JSON.stringify({ action }) : input;
    },
    decoder: () => whole(decode),
  },
};

function decode(text: string): string {
  const value = jsonOf(text);
  if (!isObject(value)) return text;
  const action = isObject(value["action"]) ? value["action"] : value;
  return typeof action["type"] === "string" ? JSON.stringify(action) : text;
}
