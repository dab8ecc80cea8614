/** Asks a model of an upstream one question of a probe. */

import { upstreamAdapter, type AdapterParts } from "../../../adapters/upstream.ts";
import type { ModelRequest } from "../../../disclosure/adapter.ts";
import { folding } from "../../../stream/fold.ts";
import type { Usage } from "../../../turn/event.ts";
import { Fault } from "../../../turn/fault.ts";
import type { ClientName } from "../../../turn/names.ts";
import type { Profile } from "../../../turn/profile.ts";
import type { Call, Item } from "../../../turn/turn.ts";
import type { Upstream } from "../../../upstreams/upstream.ts";

export type ProbeAnswer = {
  readonly calls: readonly Call[];
  readonly text: string;
  /** All of it, to be sent back. */
  readonly items: readonly Item[];
  readonly usage?: Usage | undefined;
  /** Why there is no answer. */
  readonly fault?: Fault | undefined;
  /** Something of the question could not be written for this upstream. */
  readonly isChanged: boolean;
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
  const adapter = upstreamAdapter(once(upstream, profile), model, { clock, newId });
  const folded = folding<ClientName>();
  let isChanged = false;
  const report = ({ action }: { readonly action: string }): void => {
    isChanged ||= action === "dropped" || action === "changed" || action === "reshaped";
  };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    for await (const event of adapter.call(request, { signal, report })) folded.each(event);
  } catch (error) {
    const fault = error instanceof Fault ? error : late(upstream, error);
    return { calls: [], text: "", items: [], fault, isChanged };
  }
  const { choices, usage, fault } = folded.answer();
  const items = choices[0]?.items ?? [];
  return {
    calls: items.filter((item) => item.type === "call"),
    text: items.map(textOf).join(""),
    items,
    usage,
    fault,
    isChanged,
  };
}

const textOf = (item: Item): string =>
  item.type !== "message"
    ? ""
    : item.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** The upstream under another profile, asked without trying again: so many questions are so many requests. */
const once = (upstream: Upstream, profile: Profile): Upstream => ({
  ...upstream,
  profile,
  prepare(turn, to) {
    const prepared = upstream.prepare(turn, to);
    return { ...prepared, open: (options) => prepared.open({ ...options, retry: false }) };
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
