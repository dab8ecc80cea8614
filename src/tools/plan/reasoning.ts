/** Gives reasoning back only to the upstream that it came from. */

import type { Stage } from "../../stream/stage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { isFields, jsonOf } from "../../turn/json.ts";
import type { AnyName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import { isSeal, SEAL_MARK } from "../../turn/seal.ts";
import type { DialectName, Extra, Reasoning, Turn } from "../../turn/turn.ts";

/**
 * Reasoning belongs to the model that made it: signatures and sealed text mean
 * nothing to another, which may refuse them. So what we hand to clients that
 * keep the conversation themselves says whose it is, in the one field that they
 * give back untouched.
 */
type Sealed = {
  /** `upstream/model`. */
  readonly from: string;
  readonly encrypted?: string | undefined;
  readonly details?: readonly unknown[] | undefined;
  readonly extra?: Extra | undefined;
  readonly content?: readonly string[] | undefined;
  /** Whether the words that stand beside it were content, where they are not in it. */
  readonly isContent?: boolean | undefined;
  /** What came with calls and has no place in a client's call, by the call's id. */
  readonly calls?: Readonly<Record<string, Extra>> | undefined;
  /** What was called and answered without the client, in the words of whoever answered; nothing else stands beside it. */
  readonly hidden?: unknown;
};

/** Whom a request goes to: reasoning is only given back to whom it came from. */
export type Destination = {
  /** `upstream/model`. */
  readonly origin?: string | undefined;
  /** Whether it may open what a provider has sealed. */
  readonly canDecrypt?: ((seal: string) => boolean) | undefined;
};

/** How an answer is marked. */
export type Seal = {
  /** `upstream/model`. */
  readonly from: string;
  /** The client's: what stands in its own fields needs no seal. */
  readonly dialect: DialectName;
  /** Whether the upstream wants its reasoning back; what it signed, and what came with calls, it always does. */
  readonly reasoning: boolean;
  /** Whether the client gives the words back beside the seal, so that they need not be in it. */
  readonly isWorded?: boolean | undefined;
};

const seal = (sealed: Sealed): string => SEAL_MARK + JSON.stringify(sealed);

function unseal(text: string | undefined): Sealed | undefined {
  if (!isSeal(text)) return undefined;
  const read = jsonOf(text.slice(SEAL_MARK.length));
  return isFields(read) && typeof read.from === "string" ? (read as unknown as Sealed) : undefined;
}

/** A seal that carries what the client was not shown, so that the next request can bring it back. */
export const sealHidden = (hidden: unknown): string => seal({ from: "", hidden });

/** What such a seal carries; undefined where it is none. */
export const hiddenIn = (encrypted: string | undefined): unknown => unseal(encrypted)?.hidden;

/** Reasoning to be kept for a client that may not give it back: all but its summary is in the seal. */
export function keptReasoning(item: Reasoning, from: string): Reasoning {
  const { summary, content, encrypted, details, extra } = item;
  const sealed = unseal(encrypted);
  if (sealed?.hidden !== undefined) return item;
  const own: Sealed = sealed ?? { from, encrypted, details, extra };
  const kept = seal({ ...own, isContent: undefined, content });
  return { type: "reasoning", summary, content: [], encrypted: kept };
}

/** Whether a seal of ours is for this model, or for whoever is asked. */
export function isOpenTo({ encrypted }: Reasoning, origin: string): boolean {
  const sealed = unseal(encrypted);
  return sealed?.hidden !== undefined || sealed?.from === origin;
}

const noSeals: readonly string[] = [];

/** What providers have sealed among the items of a request: nothing on it says who did. */
export function sealsIn(items: Turn["items"]): readonly string[] {
  let seals: string[] | undefined;
  for (const item of items)
    if (item.type === "reasoning" && item.encrypted !== undefined)
      if (!isSeal(item.encrypted)) (seals ??= []).push(item.encrypted);
  return seals ?? noSeals;
}

/** Past reasoning as one upstream is to be given it. */
export type Recalled = {
  /** None: it is left out. */
  readonly item: Reasoning | undefined;
  /** Why it is left out; none if there was nothing to lose. */
  readonly loss?: string | undefined;
  readonly calls?: Sealed["calls"];
};

/** Takes past reasoning back: whole for whom it came from, not at all for others. */
export function recallReasoning(
  item: Reasoning,
  dialect: DialectName,
  profile: Profile,
  { origin, canDecrypt }: Destination,
): Recalled {
  const { encrypted } = item;
  if (encrypted === undefined) return { item };
  const sealed = unseal(encrypted);
  if (sealed === undefined) {
    // Sealed by a provider of the client's dialect. Who has no such items cannot have made it.
    if (profile.reasoning !== "items" && profile.dialect !== dialect)
      return { item: undefined, loss: "reasoning is sealed for the model that made it" };
    if (canDecrypt?.(encrypted) !== false) return { item };
    return {
      item: undefined,
      loss: "reasoning that another upstream has sealed is not for this one",
    };
  }
  // Whoever has a use for it has taken it out before.
  if (sealed.hidden !== undefined) return { item: undefined };
  if (origin !== undefined && sealed.from !== origin)
    return { item: undefined, loss: `reasoning of ${sealed.from} is not for another model` };
  const { summary } = item;
  const own = {
    ...item,
    ...(sealed.isContent === true && { summary: [] }),
    content: sealed.content ?? (sealed.isContent === true ? summary : item.content),
    encrypted: sealed.encrypted,
    details: sealed.details,
    extra: sealed.extra ?? item.extra,
  };
  const isEmpty =
    own.content.length + own.summary.length === 0 &&
    own.encrypted === undefined &&
    own.details === undefined &&
    sealed.extra === undefined;
  return { item: isEmpty ? undefined : own, calls: sealed.calls };
}

/** Marks the reasoning of an answer, for clients that give it back, as that of its upstream and model. */
export function sealReasoning<Name extends AnyName>({
  from,
  dialect,
  reasoning,
  isWorded = false,
}: Seal): Stage<TurnEvent<Name>, TurnEvent<Name>> {
  const contents: (string[] | undefined)[] = [];
  return {
    each(event, emit) {
      switch (event.type) {
        case "reasoning-start":
          contents[event.choice] = [];
          return emit(event);
        case "reasoning-delta": {
          const content = (contents[event.choice] ??= []);
          if (reasoning && event.of === "content")
            content[event.part] = (content[event.part] ?? "") + event.text;
          return emit(event);
        }
        case "reasoning-end": {
          const { encrypted, details, extra, ...rest } = event;
          const foreign = extra?.dialect === dialect ? undefined : extra;
          const isSigned = details !== undefined || foreign !== undefined;
          // What was cut off is not to be taken up again.
          if (event.complete === false || (!reasoning && !isSigned)) return emit(event);
          const content = Array.from(contents[event.choice] ?? [], (text) => text ?? "");
          const words = isWorded ? { isContent: content.length > 0 } : { content };
          const text = seal({ from, encrypted, details, extra: foreign, ...words });
          const own = foreign === undefined && extra !== undefined ? { extra } : {};
          return emit({ ...rest, ...own, encrypted: text });
        }
        case "call-start": {
          const { choice, id, extra } = event;
          if (extra !== undefined && extra.dialect !== dialect) {
            const encrypted = seal({ from, calls: { [id]: extra } });
            emit({ type: "reasoning-start", choice });
            emit({ type: "reasoning-end", choice, encrypted });
          }
          return emit(event);
        }
        default:
          emit(event);
      }
    },
  };
}
