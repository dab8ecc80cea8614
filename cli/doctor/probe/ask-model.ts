/** Asks a model of an upstream one question of a probe. */

import { upstreamAdapter, type AdapterParts } from "../../../src/agent/adapters/upstream.ts";
import type { ModelRequest } from "../../../src/agent/adapter.ts";
import { folding } from "../../../src/stream/fold.ts";
import type { Decision } from "../../../src/turn/decision.ts";
import type { Usage } from "../../../src/turn/event.ts";
import { Fault } from "../../../src/turn/fault.ts";
import type { ClientName } from "../../../src/turn/names.ts";
import type { Profile } from "../../../src/turn/profile.ts";
import type { Call, Item } from "../../../src/turn/turn.ts";
import type { Upstream } from "../../../src/upstreams/upstream.ts";

export type ProbeAnswer = {
  readonly calls: readonly Call[];
  readonly text: string;
  /** All of it, to be sent back. */
  readonly items: readonly Item[];
  readonly usage?: Usage | undefined;
  /** Why there is no answer. */
  readonly fault?: Fault | undefined;
  /** Its tools could not be written as they are for this upstream. */
  readonly isAskedOtherwise: boolean;
  /** Something of the answer was not let through. */
  readonly isWithheld: boolean;
};

export type Asked = AdapterParts & {
  readonly upstream: Upstream;
  readonly model: string;
  /** What the upstream is taken to be capable of for this question. */
  readonly profile: Profile;
  readonly request: ModelRequest;
};

/** Long enough for a model that thinks. */
const PATIENCE_MS = 180_000;

export async function askModel(asked: Asked): Promise<ProbeAnswer> {
  const { upstream, model, profile, request, clock, newId } = asked;
  let isSent = false;
  const asking = once(upstream, profile, () => (isSent = true));
  const adapter = upstreamAdapter(asking, model, { clock, newId });
  const folded = folding<ClientName>();
  let isAskedOtherwise = false;
  let isWithheld = false;
  const report = ({ action, path }: Decision): void => {
    if (isSent) isWithheld ||= action === "dropped" || action === "changed";
    else if (path.startsWith("tools"))
      isAskedOtherwise ||= ["dropped", "changed", "reshaped"].includes(action);
  };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    for await (const event of adapter.call(request, { signal, report })) folded.each(event);
  } catch (error) {
    const fault = error instanceof Fault ? error : late(upstream, error);
    return { calls: [], text: "", items: [], fault, isAskedOtherwise, isWithheld };
  }
  const { choices, usage, fault } = folded.answer();
  const items = choices[0]?.items ?? [];
  return {
    calls: items.filter((item) => item.type === "call"),
    text: items.map(textOf).join(""),
    items,
    usage,
    fault,
    isAskedOtherwise,
    isWithheld,
  };
}

const textOf = (item: Item): string =>
  item.type !== "message"
    ? ""
    : item.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** The upstream under another profile, asked without trying again: so many questions are so many requests. */
const once = (upstream: Upstream, profile: Profile, onSend: () => void): Upstream => ({
  ...upstream,
  profile,
  prepare(turn, to) {
    const prepared = upstream.prepare(turn, to);
    return {
      ...prepared,
      open(options) {
        onSend();
        return prepared.open({ ...options, retry: false });
      },
    };
  },
});

function late({ name }: Upstream, error: unknown): Fault {
  if (!(error instanceof Error) || error.name !== "TimeoutError") throw error;
  return new Fault(
    "upstream.idle_timeout",
    `Upstream \`${name}\` did not end its answer in ${PATIENCE_MS / 1000} s. Try again, or choose a faster model.`,
    { log: { upstream: name } },
  );
}
