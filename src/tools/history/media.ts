import { append } from "../../turn/append.ts";
import { isBySystem } from "../../turn/item.ts";
import { isFields } from "../../json/json.ts";
import { takesFrom, type HistoryRule, type Medium, type Profile } from "../../turn/profile.ts";
import type { Message, Part, Result } from "../../turn/turn.ts";
import { Draft, type TracedItems, type RepairContext, rewritten } from "./repair.ts";

/**
 * Limits messages and results to parts that the upstream takes. An image in a result that may only
 * hold text follows as a message of the user's, after all results of its group; an image in a
 * system message follows after that message.
 */
export function fitParts(history: TracedItems, context: RepairContext): TracedItems {
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
  return draft.history();
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
  const raw = part.type === "opaque" && isFields(part.raw) ? part.raw.type : part.type;
  const name = typeof raw === "string" && raw !== "opaque" ? raw : "unknown";
  const reason = `the upstream does not accept ${name} parts here`;
  return { action: "dropped", reason, shown: `(The ${name} part here cannot be shown.)` } as const;
}

/** Puts messages under roles that the upstream knows, and in places where it takes them. */
export function fitRoles(history: TracedItems, context: RepairContext): TracedItems {
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
    const previous = draft.last();
    if (lateSystem !== false || previous === undefined || role === "user") {
      leading = undefined;
      if (role === item.role) draft.keep(place);
      else draft.add({ ...item, role }, place);
    } else if (isAtStart && previous.type === "message" && item.parts.every(isText)) {
      draft.note(place, "reshaped", "the messages at the beginning are joined into one");
      if (leading === undefined) {
        leading = [...previous.parts];
        draft.replaceLast({ ...previous, parts: leading });
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
