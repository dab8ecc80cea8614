import type { DoorDialect, KeptAnswer, KeptItem } from "../../dialects/dialect.ts";
import type { Frame } from "../../turn/event.ts";
import type { SharedText } from "../../turn/shared-text.ts";

/** An answer as its client sees it, gathered while it is written, for the store. */
export type AnswerRecord = {
  /** An item is closed. */
  readonly keep: (id: string, json: string) => void;
  /** The answer is over. */
  readonly record: (json: string, shared?: SharedText) => void;
  /** The client is sent the upstream's own frame. */
  readonly forwarded: (frame: Pick<Frame, "data">) => void;
  /** The items so far. */
  items(): readonly KeptItem[];
  /** All of it; undefined while it is not over. */
  whole(): KeptAnswer | undefined;
};

export function recordAnswer({ storage }: DoorDialect): AnswerRecord {
  const kept: KeptItem[] = [];
  let written: Omit<KeptAnswer, "items"> | undefined;
  let sent: string | undefined;
  let own: KeptAnswer | undefined;
  return {
    keep: (id, text) => void kept.push({ id, json: text }),
    record(json, shared) {
      written = { json, shared };
      sent = undefined;
    },
    forwarded({ data }) {
      sent = data;
    },
    items: () => kept,
    whole() {
      if (sent !== undefined) own ??= storage?.answerIn(sent);
      return own ?? (written === undefined ? undefined : { ...written, items: kept });
    },
  };
}
