import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fault } from "../../src/turn/fault.ts";
import type { Body } from "../support/fake-upstream.ts";
import {
  chatRequests,
  geminiRequests,
  messagesRequests,
  responsesRequests,
} from "../support/odd-requests.ts";
import { sending } from "../support/profile-requests.ts";
import { geminiModelNames, geminiRefusal } from "../support/strict-gemini.ts";

/** What Google would be sent in its own words; nothing where the request is refused here. */
function sentFor(profile: string, request: Body, model: string): Body | undefined {
  try {
    return sending(profile, request, model, false).body;
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

describe.each([
  ["chat", chatRequests],
  ["responses", responsesRequests],
  ["messages", messagesRequests],
  ["gemini", geminiRequests],
] as const)("a request of a %s client", (_, requests) => {
  it.each(
    geminiModelNames.flatMap(
      (model) =>
        [
          ["gemini", model],
          ["vertex", model],
        ] as const,
    ),
  )("is never one that %s refuses for %s", (profile, model) => {
    let sent = 0;
    fc.assert(
      fc.property(requests, (request) => {
        const body = sentFor(profile, request, model);
        if (body === undefined) return;
        sent++;
        const isVertex = profile === "vertex";
        expect(geminiRefusal(body, { model, isVertex })).toBeUndefined();
      }),
      { numRuns: 60 },
    );
    expect(sent).toBeGreaterThan(30);
  });
});
