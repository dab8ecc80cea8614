import { isBySystem } from "../../turn/item.ts";
import { isFields } from "../../turn/json.ts";
import type { UpstreamName } from "../../turn/names.ts";
import { takesFrom, type HistoryRule, type Medium, type Profile } from "../../turn/profile.ts";
import type { Item, Message, Part, Result } from "../../turn/turn.ts";
import type { Mending, TracedItem } from "./traced-item.ts";

/**
 * What messages and results hold, as far as the upstream takes it. An image in
 * a result that may only hold text follows as a message of the user's, behind
 * all results of its group.
 */
export function fitParts(told: readonly TracedItem[], mending: Mending): readonly TracedItem[] {
  const { rule } = mending;
  const fitted: TracedItem[] = [];
  let following: { parts: Part[]; at: number } | undefined;
  let changed = false;
  const follow = (): void => {
    if (following === undefined) return;
    const { parts, at } = following;
    following = undefined;
    fitted.push({ item: { type: "message", role: "user", parts }, at });
  };
  for (const one of told) {
    const { item, at } = one;
    if (item.type !== "result") follow();
    if (item.type !== "message" && item.type !== "result") {
      fitted.push(one);
      continue;
    }
    const media = item.type === "result" ? rule.resultMedia : rule.media;
    const sorted = sortParts(item, media, mending, at);
    const kept = rule.empty === false ? notEmpty(item, sorted.kept, mending, at) : sorted.kept;
    if (sorted.moved.length > 0)
      following = { at, parts: [...(following?.parts ?? []), ...label(item), ...sorted.moved] };
    if (kept === item.parts) fitted.push(one);
    else changed = true;
    if (kept !== item.parts && kept !== undefined)
      fitted.push({ item: { ...item, parts: kept }, at });
  }
  if (following !== undefined) changed = true;
  follow();
  return changed ? fitted : told;
}

const label = (item: Message | Result): Part[] =>
  item.type === "result" ? [{ type: "text", text: `From the result of call ${item.call}:` }] : [];

/** Whether all of it fits as it is, which is the rule. */
export function areFit(
  items: readonly Item<UpstreamName>[],
  rule: HistoryRule,
  profile: Profile,
): boolean {
  const { roles, lateSystem, empty } = rule;
  return items.every((item, at) => {
    if (item.type !== "message" && item.type !== "result") return true;
    const media = item.type === "result" ? rule.resultMedia : rule.media;
    for (const part of item.parts) if (!isFit(part, media, profile)) return false;
    if (empty === false && (item.parts.length === 0 || item.parts.some(isBlank))) return false;
    if (item.type === "result") return true;
    if (roles !== undefined && !roles.includes(item.role)) return false;
    return lateSystem !== false || !isBySystem(item) || at === 0;
  });
}

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
  { rule, profile, notes, path }: Mending,
  at: number,
): Sorted {
  const fits = (part: Part): boolean => isFit(part, media, profile);
  if (item.parts.every(fits)) return { kept: item.parts, moved: [] };
  const moved: Part[] = [];
  const kept = item.parts.map((part): Part => {
    if (fits(part)) return part;
    const mayFollow =
      item.type === "result" &&
      part.type !== "text" &&
      part.type !== "refusal" &&
      part.type !== "opaque" &&
      (rule.media?.includes(part.type) ?? true);
    if (mayFollow) {
      moved.push(part);
      notes.note(
        path(at),
        "reshaped",
        `${part.type}s in results follow as a message of the user's`,
      );
      return { type: "text", text: `(The ${part.type} follows in the next message.)` };
    }
    notes.note(path(at), "dropped", `the upstream takes no ${partName(part)} here`);
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
  { notes, path }: Mending,
  at: number,
): readonly Part[] | undefined {
  if (!parts.every(isBlank)) {
    const some = parts.filter((part) => !isBlank(part));
    return some.length === parts.length ? parts : some;
  }
  const reason = "the upstream takes nothing empty";
  notes.note(path(at), "repaired", reason);
  return item.type === "result" ? [{ type: "text", text: "(no output)" }] : undefined;
}

/** Messages under roles that the upstream knows, and at places where it takes them. */
export function fitRoles(
  told: readonly TracedItem[],
  { rule, notes, path }: Mending,
): readonly TracedItem[] {
  const { roles, lateSystem } = rule;
  if (roles === undefined && lateSystem !== false) return told;
  let ahead = true;
  const fitted: TracedItem[] = [];
  for (const one of told) {
    const { item, at } = one;
    if (!isBySystem(item)) {
      ahead = false;
      fitted.push(one);
      continue;
    }
    const role =
      roles === undefined || roles.includes(item.role) ? item.role : nearest(item.role, roles);
    if (role !== item.role)
      notes.note(path(at), "reshaped", `${item.role} messages are sent as ${role} messages`);
    const previous = fitted.at(-1)?.item;
    if (lateSystem !== false || fitted.length === 0 || role === "user") {
      fitted.push(role === item.role ? one : { item: { ...item, role }, at });
    } else if (ahead && previous?.type === "message" && item.parts.every(isText)) {
      notes.note(path(at), "reshaped", "the messages at the beginning are sent as one");
      fitted[fitted.length - 1] = { item: joined(previous, item), at: fitted.at(-1)?.at ?? at };
    } else {
      ahead = false;
      notes.note(path(at), "changed", `later ${role} messages are sent as the user's`);
      fitted.push({ item: { ...item, role: "user" }, at });
    }
  }
  return fitted.every((one, at) => one === told[at]) && fitted.length === told.length
    ? told
    : fitted;
}

const isText = (part: Part): boolean => part.type === "text";

const nearest = (role: Message["role"], roles: readonly Message["role"][]): Message["role"] => {
  const other = role === "developer" ? "system" : "developer";
  return roles.includes(other) ? other : "user";
};

function joined(one: Message, other: Message): Message {
  return { ...one, parts: [...one.parts, { type: "text", text: "\n\n" }, ...other.parts] };
}
