import { isFields, jsonOf } from "../../json/json.ts";
import { type HistoryRule, type Profile, takesFrom } from "../../turn/profile.ts";
import type { Call, Part, Turn } from "../../turn/turn.ts";
import { isValidId } from "../names/allocate.ts";
import type { Toolset } from "../plan/toolset.ts";

/**
 * True if a conversation needs no change: its items are texts, calls of tools that have the same
 * name and form on both sides, and results right behind their calls. It is checked in one pass,
 * because most conversations are like this. `planHistory` decides all others, item by item, and
 * gives the same items for a plain conversation.
 */
export function isPlainHistory(turn: Turn, { identity }: Toolset, profile: Profile): boolean {
  const { items, places, dialect, traits } = turn;
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
  const last = items.at(-1);
  const isPrefilled = traits.prefills === true && !takesFrom(dialect, profile);
  const endsOpen = last?.type === "message" && last.role === "assistant";
  return calls.length === 0 && !(isPrefilled && endsOpen);
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
