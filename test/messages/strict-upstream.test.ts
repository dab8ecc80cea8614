import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fault } from "../../src/turn/fault.ts";
import type { Body } from "../support/fake-upstream.ts";
import { chatRequests, responsesRequests } from "../support/odd-requests.ts";
import { sending } from "../support/profile-requests.ts";
import { strictModelNames } from "../support/strict-messages/models.ts";
import { refusalOf } from "../support/strict-messages/upstream.ts";

/** What Anthropic would be sent; nothing where the request is refused here. */
function sentFor(request: Body, model: string): Body | undefined {
  try {
    return sending("anthropic", request, model).body;
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

describe.each([
  ["chat", chatRequests],
  ["responses", responsesRequests],
] as const)("a request of a %s client", (_, requests) => {
  it.each(strictModelNames)("is never one that %s refuses", (model) => {
    let sent = 0;
    fc.assert(
      fc.property(requests, (request) => {
        const body = sentFor(request, model);
        if (body === undefined) return;
        sent++;
        expect(refusalOf(body)).toBeUndefined();
      }),
      { numRuns: 60 },
    );
    expect(sent).toBeGreaterThan(30);
  });
});
