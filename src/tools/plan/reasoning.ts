/** Gives reasoning back only to the upstream that it came from. */

import type { Emit, Stage } from "../../stream/stage.ts";
import type { ReasoningDelta, ReasoningEnd, TurnEvent } from "../../turn/event.ts";
import type { AnyName } from "../../turn/names.ts";
import { takesFrom, type Profile } from "../../turn/profile.ts";
import { isSeal, readSeal, writeSeal, type Sealed } from "../../turn/seal.ts";
import type { DialectName, Fields, Opaque, Reasoning, Turn } from "../../turn/turn.ts";

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
  /** Whether what the provider worked on itself goes along: its thoughts are void without what stood before them. */
  readonly hasItems?: boolean | undefined;
  /** Whether a seal stands among the details of reasoning: only what the upstream sealed itself has one. */
  readonly inDetails?: boolean | undefined;
};

/** Reasoning to be kept for a client that may not give it back: all but its summary is in the seal. */
export function keptReasoning(item: Reasoning, from: string): Reasoning {
  const { summary, content, encrypted, details, extra } = item;
  const sealed = readSeal(encrypted);
  if (sealed?.hidden !== undefined) return item;
  const own = sealed ?? { from, encrypted, details, extra };
  const kept = writeSeal({ ...own, isContent: undefined, content });
  return { type: "reasoning", summary, content: [], encrypted: kept };
}

/** Whether a seal of ours is for this model, or for whoever is asked. */
export function isOpenTo({ encrypted }: Reasoning, origin: string): boolean {
  const sealed = readSeal(encrypted);
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
  /** What the provider worked on itself, to stand in this place. */
  readonly own?: Opaque | undefined;
};

/** The ids of what providers worked on themselves and seals give back whole, however clients were shown it. */
export function sealedItems(items: Turn["items"]): ReadonlySet<unknown> {
  const ids = new Set<unknown>();
  for (const item of items) {
    if (item.type !== "reasoning") continue;
    const { id, tool_use_id: used } = readSeal(item.encrypted)?.item?.raw ?? {};
    if (id !== undefined || used !== undefined) ids.add(id ?? used);
  }
  return ids;
}

const NO_SEAL = "its seal is none that a gateway writes, or was changed";

/** A client can write any text of any length for the name of a model. */
const shown = (from: string): string => from.slice(0, 200);

/** Whether an upstream's own work is sealed for it, and so taken back from a seal. */
export const sealsItems = ({ reasoning }: Profile): boolean => reasoning === "signed_thinking";

const isSealedFor = ({ dialect }: Pick<Opaque, "dialect">, profile: Profile): boolean =>
  sealsItems(profile) && takesFrom(dialect, profile);

/** Takes past reasoning back: whole for whom it came from, not at all for others. */
export function recallReasoning(
  item: Reasoning,
  { dialect, traits }: Pick<Turn, "dialect" | "traits">,
  profile: Profile,
  { origin, canDecrypt }: Destination,
): Recalled {
  const { encrypted } = item;
  if (encrypted === undefined) return { item };
  const sealed = readSeal(encrypted);
  if (sealed === undefined && isSeal(encrypted)) return { item: undefined, loss: NO_SEAL };
  if (sealed === undefined) {
    // Sealed by a provider of the client's dialect. Who has no such items cannot have made it,
    // nor who has items where the dialect signs words.
    const hasItems = profile.reasoning === "items" && traits.signsReasoning !== true;
    if (!hasItems && profile.dialect !== dialect)
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
    return { item: undefined, loss: `reasoning of ${shown(sealed.from)} is not for another model` };
  if (sealed.item !== undefined)
    return isSealedFor(sealed.item, profile)
      ? { item: undefined, own: { type: "opaque", ...sealed.item } }
      : { item: undefined, loss: NO_SEAL };
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
export const sealReasoning = <Name extends AnyName>(
  options: Seal,
): Stage<TurnEvent<Name>, TurnEvent<Name>> => new Sealing<Name>(options);

class Sealing<Name extends AnyName> implements Stage<TurnEvent<Name>, TurnEvent<Name>> {
  readonly #options: Seal;
  readonly #choices: (Answered | undefined)[] = [];

  constructor(options: Seal) {
    this.#options = options;
  }

  each(event: TurnEvent<Name>, emit: Emit<TurnEvent<Name>>): void {
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

  /** A thought of its own that holds nothing but a seal. */
  #carry(choice: number, sealed: Omit<Sealed, "from">, emit: Emit<TurnEvent<Name>>): void {
    const { from, inDetails } = this.#options;
    const encrypted = writeSeal({ from, ...sealed });
    emit({ type: "reasoning-start", choice });
    if (inDetails !== true) return emit({ type: "reasoning-end", choice, encrypted });
    const index = this.#of(choice).blocks++;
    emit({ type: "reasoning-end", choice, encrypted, details: [detailOf({ encrypted, index })] });
  }

  #end(event: ReasoningEnd, emit: Emit<TurnEvent<Name>>): void {
    const { from, dialect, reasoning, isWorded, inDetails } = this.#options;
    const { encrypted, details, extra, ...rest } = event;
    const { contents, words, blocks } = this.#of(event.choice);
    const foreign = extra?.dialect === dialect ? undefined : extra;
    const isSigned = details !== undefined || foreign !== undefined;
    // What was cut off is not to be taken up again.
    if (event.complete === false || (!reasoning && !isSigned)) return emit(event);
    const content = Array.from(contents, (text) => text ?? "");
    const isContent = content.length > 0;
    if (inDetails === true) {
      // What stands in details already is for whoever sent it.
      if (encrypted === undefined) return emit(event);
      const text = writeSeal({ from, encrypted, extra: foreign, isContent });
      const detail = detailOf({ words, encrypted: text, index: blocks - 1 });
      return emit({ ...rest, encrypted: text, details: [detail] });
    }
    const said = isWorded === true ? { isContent } : { content };
    const text = writeSeal({ from, encrypted, details, extra: foreign, ...said });
    const own = foreign === undefined && extra !== undefined ? { extra } : {};
    emit({ ...rest, ...own, encrypted: text });
  }
}

/** What is kept of one choice while it is answered. */
type Answered = {
  /** The paragraphs of the thought that is open. */
  readonly contents: (string | undefined)[];
  /** All of its words, with its paragraphs set apart as the writers set them apart. */
  words: string;
  /** The paragraph that the last of them are of. */
  paragraph?: string;
  /** How many thoughts, texts and calls there were: their order is part of what is signed. */
  blocks: number;
};

/** Whether words begin another paragraph than the one before; notes that they did. */
function isNextParagraph(state: Answered, { of, part }: ReasoningDelta): boolean {
  const paragraph = `${of}${part}`;
  const isNext = state.paragraph !== undefined && state.paragraph !== paragraph;
  state.paragraph = paragraph;
  return isNext;
}

/** An entry of `reasoning_details`; its index is the place of the thought in the answer. */
const detailOf = (of: {
  readonly words?: string;
  readonly encrypted: string;
  readonly index: number;
}): Fields =>
  of.words === undefined
    ? { type: "reasoning.encrypted", data: of.encrypted, format: FORMAT, index: of.index }
    : {
        type: "reasoning.text",
        text: of.words,
        signature: of.encrypted,
        format: FORMAT,
        index: of.index,
      };

const FORMAT = "patchbay-1";
