import { isByModel, isBySystem, isOfModelTurn, textMessage } from "../../turn/item.ts";
import type { Decision } from "../../turn/decision.ts";
import { itemPlace } from "../../turn/path.ts";
import type { AnyName, UpstreamName } from "../../turn/names.ts";
import { type HistoryRule, type Medium, type Profile, takesFrom } from "../../turn/profile.ts";
import type { Call, Item, Message, Part, Result, Turn } from "../../turn/turn.ts";
import { idAllocator, isValidId } from "../names/allocate.ts";
import type { ReasoningTarget } from "../plan/reasoning.ts";
import type { Toolset } from "../plan/toolset.ts";
import { Draft, Notes, type RepairContext, rewritten, type TracedItems } from "./repair.ts";
import { pairCalls } from "./pairs.ts";
import { translate } from "./translate.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import { append } from "../../turn/append.ts";

export type HistoryPlan = {
  /** The client's own list if nothing changes. */
  readonly items: readonly Item<UpstreamName>[];
  /** The client's places of the items; undefined: their own. */
  readonly places: readonly number[] | undefined;
  readonly decisions: readonly Decision[];
};

/** The conversation in a form that the upstream takes: names, forms, pairs, parts, roles and ids. */
export function planHistory(
  turn: Turn,
  set: Toolset,
  profile: Profile,
  destination: ReasoningTarget = {},
): HistoryPlan {
  const notes = new Notes(turn);
  const translated = translate(turn, set, { profile, destination, notes });
  const { history: rule } = profile;
  const apart = rule?.paired === true ? firstApart(turn, profile) : -1;
  if (apart >= 0) notes.note(apart, "repaired", TOGETHER);
  if (losesPrefill(turn, profile)) notes.note(turn.items.length - 1, "changed", ANEW);
  const { items, origins } =
    rule === undefined ? translated : applyRules(translated, { rule, profile, notes });
  // If no name differs, both kinds of name are the same.
  const own = turn.items as readonly Item<AnyName>[] as readonly Item<UpstreamName>[];
  const isSame = items.length === own.length && items.every((item, at) => item === own[at]);
  return {
    // Items of several messages that are sent in one must not be sent as they came.
    items: isSame && apart < 0 ? own : items,
    places: isSame ? turn.places : origins.map((at) => itemPlace(turn, at)),
    decisions: notes.decisions(),
  };
}

const TOGETHER = "the text and the calls of one answer are sent in one message";

const ANEW = "the upstream may write a new answer instead of continuing this text";

/** True if an answer is to continue the last message, and the upstream's dialect cannot ask for that. */
function losesPrefill({ dialect, traits, items }: Turn, profile: Profile): boolean {
  if (traits.prefills !== true || takesFrom(dialect, profile)) return false;
  const last = items.at(-1);
  return last?.type === "message" && last.role === "assistant" && last.parts.length > 0;
}

/**
 * The first call in another message than the text or call of the model right before it, or -1.
 * Results must follow all calls of an answer.
 */
const firstApart = ({ dialect, items, places }: Turn, profile: Profile): number =>
  dialect !== profile.dialect || places === undefined
    ? -1
    : items.findIndex((item, at) => {
        const before = items[at - 1];
        const continuesAnswer = item.type === "call" && before !== undefined && isByModel(before);
        return continuesAnswer && places[at] !== places[at - 1];
      });

/** Applies every rule in turn. */
function applyRules(history: TracedItems, context: RepairContext): TracedItems {
  const { rule } = context;
  const { reasoningWithCalls: blank, behindResults: words, beforeCalls: asked } = rule;
  let made = rule.paired === true ? pairCalls(history, context) : history;
  made = fitRoles(fitParts(made, context), context);
  if (rule.empty === false) made = dropLoneReasoning(made, context);
  if (words !== undefined) made = answerResults(made, words, context);
  if (asked !== undefined) made = introduceCalls(made, asked, context);
  if (blank !== undefined) made = addMissingReasoning(made, blank, context);
  if (rule.paired === true || rule.ids !== undefined) made = fitIds(made, context);
  return fitNames(made, context);
}

/** Gives call ids the upstream's form, each used once. Pairs stay pairs, because results follow their calls. */
function fitIds(history: TracedItems, context: RepairContext): TracedItems {
  const allocate = idAllocator(context.rule.ids);
  /** The ids given to the calls of one client id: those without a result yet, and the last with one. */
  const known = new Map<string, { readonly open: string[]; next: number }>();
  return rewritten(history, context, (item, place, draft) => {
    if (item.type === "call") {
      const id = allocate(item.id);
      const given = known.get(item.id);
      if (given === undefined) known.set(item.id, { open: [id], next: 0 });
      else given.open.push(id);
      if (id === item.id) return draft.keep(place);
      draft.note(
        place,
        "renamed",
        "the upstream does not accept these call ids, so they are replaced",
      );
      return draft.add({ ...item, id }, place);
    }
    const given = item.type === "result" ? known.get(item.call) : undefined;
    if (item.type !== "result" || given === undefined) return draft.keep(place);
    const call = given.open[given.next] ?? given.open.at(-1) ?? item.call;
    given.next = Math.min(given.next + 1, given.open.length);
    if (call === item.call) draft.keep(place);
    else draft.add({ ...item, call }, place);
  });
}

/** Gives results the upstream's names of their tools, and drops names of speakers that it does not take. */
function fitNames(history: TracedItems, context: RepairContext): TracedItems {
  const { names, resultNames } = context.rule;
  const isWanted = ({ name }: Result): boolean => resultNames === true || name !== undefined;
  const calls = new Map<string, string>();
  return rewritten(history, context, (item, place, draft) => {
    if (item.type === "call") calls.set(item.id, item.name);
    if (item.type === "result" && isWanted(item)) {
      const name = calls.get(item.call) ?? item.name;
      if (name !== item.name) return draft.add({ ...item, name }, place);
    } else if (item.type === "message" && item.name !== undefined && names === false) {
      draft.note(place, "dropped", "the upstream does not support `name` on messages");
      return draft.add({ ...item, name: undefined }, place);
    }
    draft.keep(place);
  });
}

/** Adds the model's `words` where another speaker follows results. */
function answerResults(history: TracedItems, words: string, context: RepairContext): TracedItems {
  /** True if only reasoning has followed the last result: reasoning alone does not answer it. */
  let followsResults = false;
  return rewritten(history, context, (item, place, draft) => {
    if (followsResults && item.type !== "result" && !isByModel(item)) {
      const reason =
        "only the model may follow tool results, so a short message of the model is added";
      draft.note(place, "repaired", reason);
      draft.add(textMessage("assistant", words), place);
    }
    draft.keep(place);
    if (item.type !== "reasoning") followsResults = item.type === "result";
  });
}

/** Adds the user's `words` where the conversation begins with calls. */
function introduceCalls(history: TracedItems, words: string, context: RepairContext): TracedItems {
  const { items } = history;
  const call = items.findIndex(
    (item) => item.type === "call" || (!isByModel(item) && !isBySystem(item)),
  );
  if (items[call]?.type !== "call") return history;
  const first = items.findIndex(isByModel);
  return rewritten(history, context, (_, place, draft) => {
    if (place === first) {
      const reason = "a call must follow a message of the user, so a short one is added";
      draft.note(call, "repaired", reason);
      draft.add(textMessage("user", words), call);
    }
    draft.keep(place);
  });
}

/** Puts `blank` in front of a turn of the model's that makes calls and whose reasoning is not known. */
function addMissingReasoning(
  history: TracedItems,
  blank: string,
  context: RepairContext,
): TracedItems {
  const { items } = history;
  let end = 0;
  return rewritten(history, context, (item, place, draft) => {
    if (place >= end) {
      end = turnEnd(items, place);
      const hasCall = items.slice(place, end).some(({ type }) => type === "call");
      if (!isKnown(item) && hasCall) {
        const reason =
          "the upstream requires reasoning before the call, so empty reasoning is added";
        draft.note(place, "repaired", reason);
        draft.add({ type: "reasoning", summary: [], content: [blank] }, place);
      }
    }
    draft.keep(place);
  });
}

/** Leaves out reasoning that led to nothing: by itself it makes a message without content. */
function dropLoneReasoning(history: TracedItems, context: RepairContext): TracedItems {
  const { items } = history;
  let end = 0;
  let isLone = false;
  return rewritten(history, context, (item, place, draft) => {
    if (place >= end) {
      end = turnEnd(items, place);
      isLone =
        isOfModelTurn(item) && items.slice(place, end).every(({ type }) => type === "reasoning");
    }
    if (!isLone) return draft.keep(place);
    const reason = "the upstream does not accept reasoning without text or calls after it";
    draft.note(place, "dropped", reason);
  });
}

/** The end of the model's turn that begins at `start`; any other item is a turn by itself. */
function turnEnd(items: readonly Item<UpstreamName>[], start: number): number {
  let end = start;
  for (let item = items[end]; item !== undefined && isOfModelTurn(item); item = items[end]) end++;
  return Math.max(end, start + 1);
}

const isKnown = (item: Item<UpstreamName>): boolean =>
  item.type === "reasoning" &&
  (item.content.length + item.summary.length > 0 || item.details !== undefined);

/**
 * True if a conversation needs no change: its items are texts, calls of tools that have the same
 * name and form on both sides, and results right behind their calls. It is checked in one pass,
 * because most conversations are like this. `planHistory` decides all others, item by item, and
 * gives the same items for a plain conversation.
 */
export function isPlainHistory(turn: Turn, { identity }: Toolset, profile: Profile): boolean {
  const { items, places, dialect } = turn;
  const rule = profile.history ?? noRule;
  const { roles, ids, names, resultNames, beforeCalls } = rule;
  const isOwnPaired = rule.paired === true && dialect === profile.dialect && places !== undefined;
  /** The calls of one answer, the number of those with a result, and all ids. */
  let calls: Call[] = [];
  let answered = 0;
  let seen: Set<string> | undefined;
  let hasAsked = false;
  for (let at = 0; at < items.length; at++) {
    const item = items[at];
    if (item === undefined) return false;
    switch (item.type) {
      case "message": {
        const { role } = item;
        if (calls.length > 0 || !isPlainText(item.parts, rule.empty)) return false;
        if (names === false && item.name !== undefined) return false;
        if (role === "system" || role === "developer") {
          if (roles !== undefined && !roles.includes(role)) return false;
          if (rule.lateSystem === false && at > 0) return false;
        } else if (role === "user") hasAsked = true;
        if (role === "assistant") continue;
        if (rule.behindResults !== undefined && items[at - 1]?.type === "result") return false;
        continue;
      }
      case "call": {
        const before = items[at - 1];
        if (answered > 0 || (calls.length > 0 && !profile.tools.parallel)) return false;
        if (item.kind !== "function" || item.namespace !== undefined) return false;
        if (!identity.unchanged.has(item.name) || !isFields(jsonOf(item.input))) return false;
        if (rule.reasoningWithCalls !== undefined) return false;
        if (beforeCalls !== undefined && !hasAsked) return false;
        if (isOwnPaired && before !== undefined && places[at] !== places[at - 1])
          if (before.type === "call" || (before.type === "message" && before.role === "assistant"))
            return false;
        seen ??= new Set();
        if (seen.has(item.id) || item.id === "") return false;
        if (ids !== undefined && !isValidId(item.id, ids)) return false;
        seen.add(item.id);
        calls.push(item);
        continue;
      }
      case "result": {
        const call = calls[answered];
        if (call?.id !== item.call || item.kind !== "function") return false;
        if (item.declares !== undefined || !isPlainText(item.parts, rule.empty)) return false;
        const isNamed = resultNames === true || item.name !== undefined;
        if (isNamed && item.name !== String(call.name)) return false;
        hasAsked = true;
        if (++answered < calls.length) continue;
        calls = [];
        answered = 0;
        continue;
      }
      default:
        return false;
    }
  }
  return calls.length === 0 && !losesPrefill(turn, profile);
}

const noRule: HistoryRule = {};

/** True if all parts are text; `empty: false`: and none of them is blank. */
function isPlainText(parts: readonly Part[], empty: boolean | undefined): boolean {
  if (empty === false && parts.length === 0) return false;
  for (const part of parts) {
    if (part.type !== "text") return false;
    if (empty === false && part.text.trim() === "") return false;
  }
  return true;
}

/**
 * Limits messages and results to parts that the upstream takes. An image in a result that may only
 * hold text follows as a message of the user's, after all results of its group; an image in a
 * system message follows after that message.
 */
function fitParts(history: TracedItems, context: RepairContext): TracedItems {
  const { rule, profile, notes } = context;
  const draft = new Draft(history, notes);
  let following: { readonly parts: Part[]; place: number } | undefined;
  const follow = (): void => {
    if (following === undefined) return;
    const { parts, place } = following;
    following = undefined;
    draft.add({ type: "message", role: "user", parts }, place);
  };
  for (const [place, item] of history.items.entries()) {
    if (item.type !== "result") follow();
    if (item.type !== "message" && item.type !== "result") {
      draft.keep(place);
      continue;
    }
    const media = mediaFor(item, rule);
    const isFull = rule.empty !== false || (item.parts.length > 0 && !item.parts.some(isBlank));
    if (isFull && item.parts.every((part) => isFit(part, media, profile))) {
      draft.keep(place);
      continue;
    }
    const moved: Part[] = [];
    const kept = item.parts.map((part): Part => {
      if (isFit(part, media, profile)) return part;
      const text = lossText(part, item, rule);
      draft.note(place, text.action, text.reason);
      if (text.action === "reshaped") moved.push(part);
      return { type: "text", text: text.shown };
    });
    const parts = isFull ? kept : kept.filter((part) => !isBlank(part));
    if (!isFull && parts.length === 0) {
      draft.note(place, "repaired", "the upstream does not accept empty content");
      if (item.type === "result") parts.push({ type: "text", text: "(no output)" });
    }
    if (isFull || parts.length > 0) draft.add({ ...item, parts }, place);
    if (moved.length === 0) continue;
    following ??= { parts: [], place };
    following.place = place;
    if (item.type === "result")
      following.parts.push({ type: "text", text: `From the result of call ${item.call}:` });
    append(following.parts, moved);
  }
  follow();
  return draft;
}

const mediaFor = (item: Message | Result, rule: HistoryRule): readonly Medium[] | undefined => {
  if (item.type === "result") return rule.resultMedia;
  return isBySystem(item) ? (rule.systemMedia ?? rule.media) : rule.media;
};

const isBlank = (part: Part): boolean => part.type === "text" && part.text.trim() === "";

function isFit(part: Part, media: readonly Medium[] | undefined, profile: Profile): boolean {
  if (part.type === "text" || part.type === "refusal") return true;
  if (part.type === "opaque") return takesFrom(part.dialect, profile);
  return media === undefined || media.includes(part.type);
}

/** The text in place of a part that the upstream does not take here: the part follows, or is dropped. */
function lossText(part: Part, item: Message | Result, { media }: HistoryRule) {
  const isMedium = part.type === "image" || part.type === "file" || part.type === "audio";
  const mayMove = item.type === "result" || isBySystem(item);
  if (isMedium && mayMove && (media?.includes(part.type) ?? true)) {
    const where = item.type === "result" ? "results" : "system messages";
    const reason = `${part.type}s in ${where} are sent in a user message after them`;
    const shown = `(The ${part.type} follows in the next message.)`;
    return { action: "reshaped", reason, shown } as const;
  }
  // A part without a type is named by the member that holds its content.
  const raw = part.type === "opaque" && isFields(part.raw) ? part.raw : { type: part.type };
  const kind = raw.type ?? Object.keys(raw)[0];
  const name = typeof kind === "string" && kind !== "opaque" ? kind : "unknown";
  const reason = `the upstream does not accept ${name} parts here`;
  return { action: "dropped", reason, shown: `(The ${name} part here cannot be shown.)` } as const;
}

/** Puts messages under roles that the upstream knows, and in places where it takes them. */
function fitRoles(history: TracedItems, context: RepairContext): TracedItems {
  const { roles, lateSystem, reminderTag } = context.rule;
  if (roles === undefined && lateSystem !== false) return history;
  let isAtStart = true;
  /** The parts of the message that the messages at the beginning have become. */
  let leading: Part[] | undefined;
  return rewritten(history, context, (item, place, draft) => {
    if (!isBySystem(item)) {
      isAtStart = false;
      return draft.keep(place);
    }
    const role =
      roles === undefined || roles.includes(item.role) ? item.role : nearest(item.role, roles);
    if (role !== item.role)
      draft.note(place, "reshaped", `${item.role} messages are sent as ${role} messages`);
    const previous = draft.items.at(-1);
    if (lateSystem !== false || previous === undefined || role === "user") {
      leading = undefined;
      if (role === item.role) draft.keep(place);
      else draft.add({ ...item, role }, place);
    } else if (isAtStart && previous.type === "message" && item.parts.every(isText)) {
      draft.note(place, "reshaped", "the messages at the beginning are joined into one");
      if (leading === undefined) {
        leading = [...previous.parts];
        draft.items[draft.items.length - 1] = { ...previous, parts: leading };
      }
      append(leading, [{ type: "text", text: "\n\n" }, ...item.parts]);
    } else {
      isAtStart = false;
      const parts = reminderTag === undefined ? undefined : item.parts.map(reminder(reminderTag));
      const how = parts === undefined ? "" : ", in tags that mark them";
      const reason = `later ${role} messages are sent as user messages${how}`;
      draft.note(place, parts === undefined ? "changed" : "reshaped", reason);
      draft.add({ ...item, role: "user", parts: parts ?? item.parts }, place);
    }
  });
}

/** Marks instructions among the user's words by a tag that models know. */
const reminder =
  (tag: string) =>
  (part: Part): Part =>
    part.type === "text" ? { ...part, text: `<${tag}>\n${part.text}\n</${tag}>` } : part;

const isText = (part: Part): boolean => part.type === "text";

const nearest = (role: Message["role"], roles: readonly Message["role"][]): Message["role"] => {
  const other = role === "developer" ? "system" : "developer";
  return roles.includes(other) ? other : "user";
};
