/** The model for an agent, and a check that it answers. */

import { fieldsOf, filledText, refusal } from "../../src/terminal.ts";
import { isOwnModel, wireFrames } from "../../src/inspection.ts";
import { reach } from "../remote.ts";
import type { LaunchAgent } from "./agent.ts";

/** The first model that the agent was made for; without one, the first. */
export function modelFor({ families }: LaunchAgent, models: readonly string[]): string | undefined {
  const isOwn = (model: string): boolean =>
    isOwnModel({ families }, model.slice(model.lastIndexOf("/") + 1));
  return models.find(isOwn) ?? models[0];
}

type Checked = {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  /** All models of the gateway. */
  readonly models: readonly string[];
};

/** The time for a short answer; a model that must be loaded takes longer. */
const PATIENCE_MS = 10_000;

/**
 * Asks the model for a few words, because an agent repeats a failing request for a minute before it
 * reports the reason. Throws a Fault with the reason; returns a note if no answer came in time.
 */
export async function checkModel(
  to: Checked,
  patienceMs = PATIENCE_MS,
): Promise<string | undefined> {
  const { url, key, model } = to;
  const body = {
    model,
    stream: true,
    max_tokens: 16,
    messages: [{ role: "user", content: "Say hello." }],
  };
  let why: string | undefined;
  try {
    const gateway = { url, key, timeoutMs: patienceMs };
    const response = await reach(gateway, "/v1/chat/completions", { body });
    const message = errorIn(await response.bytes());
    why = message ?? (response.ok ? undefined : `The gateway answers ${response.status}.`);
  } catch {
    // A model that must be loaded is slow, which is no failure.
    return `${model} has not answered a short request in ${patienceMs / 1000} s.`;
  }
  if (why === undefined) return undefined;
  throw refusal(`${model} cannot answer, so the agent was not started. ${why}${othersText(to)}`);
}

/** The message of a failed answer, from its body or a frame of its stream. */
function errorIn(answer: Uint8Array): string | undefined {
  const errors = wireFrames([answer]).map(({ data }) => fieldsOf(fieldsOf(data)?.error));
  const error = errors.find((one) => one !== undefined);
  return error && (filledText(error.message) ?? "It gives no reason.");
}

/** The first model of each other upstream. */
function othersText({ model, models }: Checked): string {
  const upstreamOf = (name: string): string => name.slice(0, name.indexOf("/") + 1);
  const firsts = models.filter(
    (one, at) =>
      upstreamOf(one) !== upstreamOf(model) &&
      models.findIndex((other) => upstreamOf(other) === upstreamOf(one)) === at,
  );
  return firsts.length === 0
    ? ""
    : ` To use another model: --model ${firsts.slice(0, 3).join(" or ")}`;
}
