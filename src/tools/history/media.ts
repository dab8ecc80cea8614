import { append } from "../../turn/append.ts";
import { isBySystem } from "../../turn/item.ts";
import { isFields } from "../../json/json.ts";
import { takesFrom, type HistoryRule, type Medium, type Profile } from "../../turn/profile.ts";
import type { Message, Part, Result } from "../../turn/turn.ts";
import { Draft, originOf, type History, type RepairContext } from "./repair.ts";

/**
 * What messages and results hold, as far as the upstream takes it. An image in
 * a result that may only hold text follows as a message of the user's, behind
 * all results of its group; one in a system message, behind that.
 */
export function fitParts(history: History, context: RepairContext): History {
  const { rule, profile } = context;
  const draft = new Draft(history);
  let following: { readonly parts: Part[]; origin: number } | undefined;
  const follow = (): void => {
    if (following === undefined) return;
    const { parts, origin } = following;
    following = undefined;
    draft.add({ type: "message", role: "user", parts }, origin);
  };
  history.items.forEach((item, place) => {
    if (item.type !== "result") follow();
    if (item.type !== "message" && item.type !== "result") return draft.keep(place);
    const media = mediaFor(item, rule);
    const isFull = rule.empty !== false || (item.parts.length > 0 && !item.parts.some(isBlank));
    if (isFull && item.parts.every((part) => isFit(part, media, profile))) return draft.keep(place);
    const origin = originOf(history, place);
    const { kept, moved } = sortParts(item, media, context, origin);
    const parts = isFull ? kept : notEmpty(item, kept, context, origin);
    if (parts !== undefined) draft.add({ ...item, parts }, origin);
    if (moved.length === 0) return;
    following ??= { parts: [], origin };
    following.origin = origin;
    append(following.parts, label(item));
    append(following.parts, moved);
  });
  follow();
  return draft.history();
}

const mediaFor = (item: Message | Result, rule: HistoryRule): readonly Medium[] | undefined => {
  if (item.type === "result") return rule.resultMedia;
  return isBySystem(item) ? (rule.systemMedia ?? rule.media) : rule.media;
};

const label = (item: Message | Result): Part[] =>
  item.type === "result" ? [{ type: "text", text: `From the result of call ${item.call}:` }] : [];

const isBlank = (part: Part): boolean => part.type === "text" && part.text.trim() === "";

function isFit(part: Part, media: readonly Medium[] | undefined, profile: Profile): boolean {
  if (part.type === "text" || part.type === "refusal") return true;
  if (part.type === "opaque") return takesFrom(part.dialect, profile);
  return media === undefined || media.includes(part.type);
}

type Sorted = { readonly kept: readonly Part[]; readonly moved: readonly Part[] };

function sortParts(
  item: Message | Result,
  media: readonly Medium[] | undefined,
  { rule, profile, notes, path }: RepairContext,
  origin: number,
): Sorted {
  const moved: Part[] = [];
  const kept = item.parts.map((part): Part => {
    if (isFit(part, media, profile)) return part;
    const mayFollow =
      (item.type === "result" || isBySystem(item)) &&
      part.type !== "text" &&
      part.type !== "refusal" &&
      part.type !== "opaque" &&
      (rule.media?.includes(part.type) ?? true);
    if (mayFollow) {
      moved.push(part);
      notes.note(
        path(origin),
        "reshaped",
        `${part.type}s in ${item.type === "result" ? "results" : "system messages"} follow as a message of the user's`,
      );
      return { type: "text", text: `(The ${part.type} follows in the next message.)` };
    }
    notes.note(path(origin), "dropped", `the upstream takes no ${partName(part)} here`);
    return { type: "text", text: `(Here was ${partName(part)} that cannot be shown.)` };
  });
  return { kept, moved };
}

function partName(part: Part): string {
  if (part.type !== "opaque") return part.type;
  return isFields(part.raw) && typeof part.raw.type === "string"
    ? part.raw.type
    : "unknown content";
}

/** Nothing, for a message without content; for a result, words to that effect. */
function notEmpty(
  item: Message | Result,
  parts: readonly Part[],
  { notes, path }: RepairContext,
  origin: number,
): readonly Part[] | undefined {
  if (!parts.every(isBlank)) {
    const some = parts.filter((part) => !isBlank(part));
    return some.length === parts.length ? parts : some;
  }
  const reason = "the upstream takes nothing empty";
  notes.note(path(origin), "repaired", reason);
  return item.type === "result" ? [{ type: "text", text: "(no output)" }] : undefined;
}

/** Messages under roles that the upstream knows, and at places where it takes them. */
export function fitRoles(history: History, { rule, notes, path }: RepairContext): History {
  const { roles, lateSystem, reminderTag } = rule;
  if (roles === undefined && lateSystem !== false) return history;
  const draft = new Draft(history);
  let isAtStart = true;
  /** The parts of the message that those at the beginning have become. */
  let leading: Part[] | undefined;
  history.items.forEach((item, place) => {
    if (!isBySystem(item)) {
      isAtStart = false;
      return draft.keep(place);
    }
    const origin = originOf(history, place);
    const role =
      roles === undefined || roles.includes(item.role) ? item.role : nearest(item.role, roles);
    if (role !== item.role)
      notes.note(path(origin), "reshaped", `${item.role} messages are sent as ${role} messages`);
    const previous = draft.last();
    if (lateSystem !== false || previous === undefined || role === "user") {
      leading = undefined;
      if (role === item.role) draft.keep(place);
      else draft.add({ ...item, role }, origin);
    } else if (isAtStart && previous.type === "message" && item.parts.every(isText)) {
      notes.note(path(origin), "reshaped", "the messages at the beginning are sent as one");
      if (leading === undefined) {
        leading = [...previous.parts];
        draft.replaceLast({ ...previous, parts: leading });
      }
      append(leading, [{ type: "text", text: "\n\n" }, ...item.parts]);
    } else {
      isAtStart = false;
      const parts = reminderTag === undefined ? undefined : item.parts.map(reminder(reminderTag));
      const how = parts === undefined ? "" : ", marked as what they are";
      const reason = `later ${role} messages are sent as the user's${how}`;
      notes.note(path(origin), parts === undefined ? "changed" : "reshaped", reason);
      draft.add({ ...item, role: "user", parts: parts ?? item.parts }, origin);
    }
  });
  return draft.history();
}

/** Words that models know as those of whoever set them up, though they stand among the user's. */
const reminder =
  (tag: string) =>
  (part: Part): Part =>
    part.type === "text" ? { ...part, text: `<${tag}>\n${part.text}\n</${tag}>` } : part;

const isText = (part: Part): boolean => part.type === "text";

const nearest = (role: Message["role"], roles: readonly Message["role"][]): Message["role"] => {
  const other = role === "developer" ? "system" : "developer";
  return roles.includes(other) ? other : "user";
};
