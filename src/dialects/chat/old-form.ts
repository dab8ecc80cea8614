import type { Fields } from "../../turn/turn.ts";
import { fieldsOf } from "../loose.ts";

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** Whether the client declared its tools as `functions`, and expects calls in the form of then. */
export const declaresFunctions = ({ tools, functions }: Fields): boolean =>
  Array.isArray(functions) && functions.length > 0 && !isGiven(tools);

/** Whether anything is said in words from before there were `tools`, which many upstreams never knew. */
export const isOldForm = (body: Fields, messages: readonly unknown[]): boolean =>
  isGiven(body.functions) || isGiven(body.function_call) || messages.some(isOldMessage);

function isOldMessage(message: unknown): boolean {
  const { role, function_call } = fieldsOf(message) ?? {};
  return role === "function" || isGiven(function_call);
}
