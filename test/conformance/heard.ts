import type { Body } from "../support/fake-upstream.ts";
import { callables, type Said, type Scenario } from "./scenario.ts";

/** A tool as an upstream was offered it. */
export type Offered = {
  readonly kind: "function" | "custom";
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly schema?: Body | undefined;
};

/** What an upstream was asked, in no dialect. */
export type Heard = {
  readonly tools: readonly Offered[];
  readonly choice: "auto" | "none" | "required" | { readonly name: string };
  readonly schema?: Body | undefined;
};

/** A call in the words of the upstream. */
export type UpstreamCall = Omit<Offered, "schema"> & {
  readonly id: string;
  readonly input: string;
};

/** The calls of a scenario as a model makes them that was offered these tools. */
export function callsOf({ calls = [] }: Said, { asked }: Scenario, heard: Heard): UpstreamCall[] {
  const known = callables(asked);
  return calls.map(({ tool, input }, at) => {
    // Where a choice leaves only one tool, that is offered alone.
    const offered = heard.tools.length < known.length ? heard.tools[0] : heard.tools[tool];
    if (offered === undefined) throw new Error("the model was offered no such tool");
    const { kind, name, namespace, schema } = offered;
    const isWrapped = known[tool]?.kind === "custom" && kind === "function";
    const [key = ""] = Object.keys((schema?.["properties"] ?? {}) as Body);
    const said = isWrapped ? JSON.stringify({ [key]: input }) : input;
    return { id: `call_${at}`, kind, name, namespace, input: said };
  });
}

export const stopOf = ({ stop, calls }: Said): "end" | "calls" | "length" | "filter" =>
  stop ?? (calls === undefined ? "end" : "calls");
