/** Gives reasoning back only to the upstream that it came from. */

import type { Emit, EventStage } from "../../stream/stage.ts";
import type { ReasoningDelta, ReasoningEnd, TurnEvent } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import { takesFrom, type Profile } from "../../turn/profile.ts";
import { isSeal, readSeal, writeSeal, type Sealed } from "../../turn/seal.ts";
import type { DialectName, Fields, Opaque, Reasoning, Turn } from "../../turn/turn.ts";

/** The model that receives a request. Reasoning is only given back to its origin. */
export type ReasoningTarget = {
  /** `upstream/model`. */
  readonly origin?: string | undefined;
  /** True if the upstream can read reasoning that a provider has sealed. */
  readonly canDecrypt?: ((seal: string) => boolean) | undefined;
};

/** The form of the seals of an answer. */
export type Seal = {
  /** `upstream/model`. */
  readonly from: string;
  /** The client's dialect: its own fields need no seal. */
  readonly dialect: DialectName;
  /** True if the upstream wants its reasoning back. Signed reasoning and unknown fields of calls are always sealed. */
  readonly reasoning: boolean;
  /** True if the client gives readable reasoning back beside the seal, so that the seal need not hold it. */
  readonly isWorded?: boolean | undefined;
  /** True if seals also hold the provider's own items: its later reasoning is invalid without them. */
  readonly hasItems?: boolean | undefined;
  /** True if the seal is an entry in the details of reasoning. Then only reasoning that the upstream sealed gets one. */
  readonly inDetails?: boolean | undefined;
};

/** Reasoning for the store, for clients that may not give it back: the seal holds all except the summary. */
export function keptReasoning(item: Reasoning, from: string): Reasoning {
  const { summary, content, encrypted, details, extra } = item;
  const sealed = readSeal(encrypted);
  if (sealed?.hidden !== undefined) return item;
  const own = sealed ?? { from, encrypted, details, extra };
  const kept = writeSeal({ ...own, isContent: undefined, content });
  return { type: "reasoning", summary, content: [], encrypted: kept };
}

/** True if a seal is for this model, or for any model. */
export function isOpenTo({ encrypted }: Reasoning, origin: string): boolean {
  const sealed = readSeal(encrypted);
  return sealed?.hidden !== undefined || sealed?.from === origin;
}

const noSeals: readonly string[] = [];

/** The texts that providers have sealed among the items of a request. They do not name their provider. */
export function sealsIn(items: Turn["items"]): readonly string[] {
  let seals: string[] | undefined;
  for (const item of items)
    if (item.type === "reasoning" && item.encrypted !== undefined)
      if (!isSeal(item.encrypted)) (seals ??= []).push(item.encrypted);
  return seals ?? noSeals;
}

/** Past reasoning in the form for one upstream. */
type RecalledReasoning = {
  /** Undefined if it is left out. */
  readonly item: Reasoning | undefined;
  /** The reason for leaving it out; undefined if nothing is lost. */
  readonly loss?: string | undefined;
  readonly calls?: Sealed["calls"];
  /** An item of the provider's own work, to put in this place. */
  readonly own?: Opaque | undefined;
};

const lost = (loss: string): RecalledReasoning => ({ item: undefined, loss });

/** The ids of providers' own items that seals hold whole; clients may have received them in another form. */
export function sealedItems(items: Turn["items"]): ReadonlySet<unknown> {
  const ids = new Set<unknown>();
  for (const item of items) {
    if (item.type !== "reasoning") continue;
    const { id, tool_use_id: used } = readSeal(item.encrypted)?.item?.raw ?? {};
    if (id !== undefined || used !== undefined) ids.add(id ?? used);
  }
  return ids;
}

const NO_SEAL =
  "the gateway cannot open its seal, because it was changed or is from another gateway";

/** Limits the name of a model, because a client can write any text into a seal. */
const shown = (from: string): string => from.slice(0, 200);

/** True if an upstream's own items are sealed for it, and restored from seals. */
export const sealsItems = ({ reasoning }: Profile): boolean => reasoning === "signed_thinking";

const isSealedFor = ({ dialect }: Pick<Opaque, "dialect">, profile: Profile): boolean =>
  sealsItems(profile) && takesFrom(dialect, profile);

/** Restores past reasoning for its origin; other models get none of it. */
export function recallReasoning(
  item: Reasoning,
  { dialect, traits }: Pick<Turn, "dialect" | "traits">,
  profile: Profile,
  { origin, canDecrypt }: ReasoningTarget,
): RecalledReasoning {
  const { encrypted } = item;
  if (encrypted === undefined) return { item };
  const sealed = readSeal(encrypted);
  if (sealed === undefined && isSeal(encrypted)) return lost(NO_SEAL);
  if (sealed === undefined) {
    // A provider of the client's dialect sealed it. Upstreams without such items cannot be the
    // origin, nor can those with items if the signatures of the dialect are its own.
    const hasItems = profile.reasoning === "items" && traits.ownsSignatures !== true;
    if (!hasItems && profile.dialect !== dialect)
      return lost("only the model that wrote the reasoning can read it");
    if (canDecrypt?.(encrypted) !== false) return { item };
    return lost("another upstream encrypted the reasoning, and this one cannot read it");
  }
  // Calls that the gateway answered itself are restored before planning.
  if (sealed.hidden !== undefined) return { item: undefined };
  if (origin !== undefined && sealed.from !== origin)
    return lost(`the reasoning is from ${shown(sealed.from)}, and another model cannot use it`);
  if (sealed.item !== undefined)
    return isSealedFor(sealed.item, profile)
      ? { item: undefined, own: { type: "opaque", ...sealed.item } }
      : lost(NO_SEAL);
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

/** Seals the reasoning of an answer with its origin, for clients that give it back. */
export class ReasoningSealer implements EventStage<ClientName> {
  readonly #options: Seal;
  readonly #choices: (Answered | undefined)[] = [];

  constructor(options: Seal) {
    this.#options = options;
  }

  each(event: TurnEvent<ClientName>, emit: Emit<TurnEvent<ClientName>>): void {
    const { dialect, reasoning, hasItems } = this.#options;
    switch (event.type) {
      case "reasoning-start": {
        const { blocks } = this.#of(event.choice);
        this.#choices[event.choice] = { contents: [], words: "", blocks: blocks + 1 };
        return emit(event);
      }
      case "reasoning-delta": {
        const state = this.#of(event.choice);
        if (reasoning && event.of === "content")
          state.contents[event.part] = (state.contents[event.part] ?? "") + event.text;
        state.words += isNextParagraph(state, event) ? `\n\n${event.text}` : event.text;
        return emit(event);
      }
      case "reasoning-end":
        return this.#end(event, emit);
      case "text-start":
        this.#of(event.choice).blocks++;
        return emit(event);
      case "call-start": {
        const { choice, id, extra } = event;
        if (extra !== undefined && extra.dialect !== dialect)
          this.#carry(choice, { calls: { [id]: extra } }, emit);
        this.#of(choice).blocks++;
        return emit(event);
      }
      case "item-end": {
        emit(event);
        const { dialect: made, raw } = event;
        if (hasItems === true && made !== dialect)
          this.#carry(event.choice, { item: { dialect: made, raw } }, emit);
        return;
      }
      default:
        emit(event);
    }
  }

  #of(choice: number): Answered {
    return (this.#choices[choice] ??= { contents: [], words: "", blocks: 0 });
  }

  /** Emits reasoning that holds nothing but a seal. */
  #carry(choice: number, sealed: Omit<Sealed, "from">, emit: Emit<TurnEvent<ClientName>>): void {
    const { from, inDetails } = this.#options;
    const encrypted = writeSeal({ from, ...sealed });
    emit({ type: "reasoning-start", choice });
    if (inDetails !== true) return emit({ type: "reasoning-end", choice, encrypted });
    const index = this.#of(choice).blocks++;
    emit({ type: "reasoning-end", choice, encrypted, details: [detailOf(index, encrypted)] });
  }

  #end(event: ReasoningEnd, emit: Emit<TurnEvent<ClientName>>): void {
    const { from, dialect, reasoning, isWorded, inDetails } = this.#options;
    const { encrypted, details, extra, ...rest } = event;
    const { contents, words, blocks } = this.#of(event.choice);
    const foreign = extra?.dialect === dialect ? undefined : extra;
    const isSigned = details !== undefined || foreign !== undefined;
    // Reasoning that was cut off cannot be continued.
    if (event.complete === false || (!reasoning && !isSigned)) return emit(event);
    const content = Array.from(contents, (text) => text ?? "");
    const isContent = content.length > 0;
    if (inDetails === true) {
      // Details that are not encrypted need no seal, and such reasoning has no place among the others.
      if (encrypted === undefined) {
        this.#of(event.choice).blocks--;
        return emit(event);
      }
      const text = writeSeal({ from, encrypted, extra: foreign, isContent });
      const detail = detailOf(blocks - 1, text, words);
      return emit({ ...rest, encrypted: text, details: [detail] });
    }
    const said = isWorded === true ? { isContent } : { content };
    const text = writeSeal({ from, encrypted, details, extra: foreign, ...said });
    const own = foreign === undefined && extra !== undefined ? { extra } : {};
    emit({ ...rest, ...own, encrypted: text });
  }
}

/** The answer of one choice so far. */
type Answered = {
  /** The paragraphs of the open block of reasoning. */
  readonly contents: (string | undefined)[];
  /** The same as one text, with paragraphs separated as the writers separate them. */
  words: string;
  /** The paragraph of the last delta. */
  paragraph?: string;
  /** The number of blocks of reasoning, texts and calls: their order is part of what is signed. */
  blocks: number;
};

/** True if a delta begins another paragraph than the one before. Updates the paragraph. */
function isNextParagraph(state: Answered, { of, part }: ReasoningDelta): boolean {
  const paragraph = `${of}${part}`;
  const isNext = state.paragraph !== undefined && state.paragraph !== paragraph;
  state.paragraph = paragraph;
  return isNext;
}

/** An entry of `reasoning_details`; `index` is the position of the reasoning in the answer. */
const detailOf = (index: number, seal: string, words?: string): Fields => ({
  ...(words === undefined
    ? { type: "reasoning.encrypted", data: seal }
    : { type: "reasoning.text", text: words, signature: seal }),
  format: "patchbay-1",
  index,
});
