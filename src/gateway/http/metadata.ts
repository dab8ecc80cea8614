import { Fault } from "../../turn/fault.ts";
import { isFields } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";

/** As the API has it. */
const MAX_PAIRS = 16;
const MAX_KEY = 64;
const MAX_VALUE = 512;

/** What a client says of something that is kept for it. */
export function readMetadata(metadata: unknown): Fields {
  if (metadata === undefined || metadata === null) return {};
  const isFit =
    isFields(metadata) &&
    Object.entries(metadata).every(
      ([key, value]) =>
        key.length <= MAX_KEY && typeof value === "string" && value.length <= MAX_VALUE,
    );
  if (isFit && Object.keys(metadata).length <= MAX_PAIRS) return metadata;
  const sizes = `keys of up to ${MAX_KEY} and texts of up to ${MAX_VALUE} characters`;
  throw new Fault(
    "request.invalid",
    `\`metadata\` must be an object of at most ${MAX_PAIRS} ${sizes}.`,
    { param: "metadata" },
  );
}
