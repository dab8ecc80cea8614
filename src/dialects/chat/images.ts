import type { Fields } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import { fieldsOf, listOf, filledText } from "../shared/loose.ts";

/** What an item that holds a picture is called; the API of that name has the word, chat has none. */
const TYPE = "image_generation_call";

/** The URLs of the images of a message, as some providers send them in `images`. */
export const imagesIn = (images: unknown): readonly string[] =>
  (listOf(images) ?? []).flatMap((entry) => {
    const image = fieldsOf(entry)?.image_url;
    return filledText(fieldsOf(image)?.url) ?? filledText(image) ?? [];
  });

/** A picture as an item, as it is announced and as it is when it is done. */
export function imageItem(url: string, id: string): { first: Fields; last: Fields } {
  const [, format, data] = /^data:image\/([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  const item = { type: TYPE, id };
  return {
    first: { ...item, status: "in_progress", result: null },
    last: {
      ...item,
      status: "completed",
      result: data ?? url,
      ...(format !== undefined && { output_format: format }),
    },
  };
}

/** The image of an item, if it has one, as an entry of `images`. */
export function writeImage(item: Fields): Fields | undefined {
  const result = filledText(item.result);
  if (item.type !== TYPE || result === undefined) return undefined;
  const format = filledText(item.output_format) ?? "png";
  const url = /^https?:/.test(result) ? result : `data:image/${format};base64,${result}`;
  return { type: "image_url", image_url: { url } };
}

/** Of items that an upstream works on itself, chat can show images; the others are reported as dropped. */
export function writeHosted(
  item: Fields,
  choice: number,
  { report }: WriteContext,
): Fields | undefined {
  const image = writeImage(item);
  const type = (filledText(item.type) ?? "item").slice(0, 60);
  if (image === undefined)
    report?.({
      path: `output.choices[${choice}]`,
      action: "dropped",
      reason: `a chat answer has no form for \`${type}\``,
    });
  return image;
}
