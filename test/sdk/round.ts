import { expect } from "vitest";
import { finalText, results, toolNames, wantedInputs } from "./gateway.ts";
import type { Backend, SdkGateway, Toolbox } from "./gateway.ts";

type Declared = {
  readonly name?: string;
  readonly function?: { readonly name: string };
  readonly functionDeclarations?: readonly Declared[];
};

/** Codex names its thread in every request to its model. */
export const threadsOf = (heard: SdkGateway["requests"]): number =>
  new Set(heard.map(({ body }) => body["prompt_cache_key"] as unknown)).size;

/** What came of a round: the calls, what the model was told, and what it said in the end. */
export const roundOf = (
  { requests, back }: SdkGateway,
  box: Toolbox,
  text: string | null | undefined,
): unknown => ({
  ...(back === "codex" && { threads: threadsOf(requests) }),
  called: box.called,
  requests: requests.map(({ body, text: sent }) => ({
    tools: ((body["tools"] ?? []) as Declared[])
      .flatMap((tool) => tool.functionDeclarations ?? [tool])
      .map((tool) => tool.function?.name ?? tool.name),
    results: Object.values(results).filter((result) => sent.includes(result)),
  })),
  text,
});

export function wantedRound(back: Backend): unknown {
  if (back !== "demo")
    return {
      // The second request goes on in the thread that waits for it.
      ...(back === "codex" && { threads: 1 }),
      called: wantedInputs,
      requests: [
        { tools: toolNames, results: [] },
        { tools: toolNames, results: Object.values(results) },
      ],
      text: finalText,
    };
  // The demo fills arguments in as it sees fit: for both tools, and within their schemas.
  const called = toolNames.map((name) => ({
    name,
    input: expect.objectContaining({ city: expect.stringMatching(/./) }) as unknown,
  }));
  return {
    called: expect.arrayContaining(called) as unknown,
    requests: [],
    text: expect.stringContaining(results.get_time) as unknown,
  };
}
