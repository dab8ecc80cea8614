import {
  added,
  argument,
  completed,
  created,
  delta,
  done,
  message,
  of,
  openCall,
  openMessage,
  part,
  response,
} from "../support/responses-sending.ts";
import type { Body } from "../support/fake-upstream.ts";
import { numbered, type Quirk } from "./quirk.ts";

const incomplete = (reason: string, ...output: readonly Body[]): Body => ({
  type: "response.incomplete",
  response: response({ status: "incomplete", incomplete_details: { reason }, output }),
});
const failed = (error: Body): Body => ({
  type: "response.failed",
  response: response({ status: "failed", error }),
});

/** How servers of the Responses API end an answer, or fail to. */
export const responsesEndings = [
  {
    quirk: "an end by length",
    providers: "all",
    wire: numbered(
      created,
      added(openMessage),
      delta("Hel"),
      incomplete("max_output_tokens", message("Hel", { status: "incomplete" })),
    ),
    sees: { text: "Hel", stop: "length" },
  },
  {
    quirk: "an end by a filter",
    providers: "Azure, OpenAI",
    wire: numbered(
      created,
      added(openMessage),
      delta("Hel"),
      incomplete("content_filter", message("Hel", { status: "incomplete" })),
    ),
    sees: { text: "Hel", stop: "filter" },
  },
  {
    quirk: "a refusal",
    providers: "OpenAI",
    wire: numbered(
      created,
      added(openMessage),
      of("refusal.delta", { content_index: 0, delta: "I cannot." }),
      of("refusal.done", { content_index: 0, refusal: "I cannot." }),
      done({ ...message(), content: [{ type: "refusal", refusal: "I cannot." }] }),
      completed({ ...message(), content: [{ type: "refusal", refusal: "I cannot." }] }),
    ),
    sees: { refusal: "I cannot." },
  },
  {
    quirk: "an error event before the failure",
    providers: "OpenAI",
    wire: numbered(
      created,
      {
        type: "error",
        error: {
          type: "insufficient_quota",
          code: "insufficient_quota",
          message: "The quota is used up.",
        },
      },
      failed({ code: "insufficient_quota", message: "The quota is used up." }),
    ),
    sees: { fails: /quota is used up/ },
  },
  {
    quirk: "an error event and nothing behind it",
    providers: "Azure",
    wire: numbered(created, {
      type: "error",
      code: "server_error",
      message: "The engine died.",
      param: null,
    }),
    sees: { fails: /engine died/ },
  },
  {
    quirk: "a failure behind a text",
    providers: "OpenAI",
    wire: numbered(
      created,
      added(openMessage),
      part,
      delta("Hel"),
      failed({ code: "server_error", message: "The engine died." }),
    ),
    sees: { fails: /engine died/, text: "Hel" },
  },
  {
    quirk: "a stream that closes without a terminal event",
    providers: "any, when a worker dies",
    wire: numbered(created, added(openCall), argument('{"a"')),
    sees: { fails: /upstream/ },
  },
  {
    quirk: "a body that failed, with status 200",
    providers: "OpenAI in background mode",
    wire: {
      body: response({
        status: "failed",
        error: { code: "server_error", message: "The engine died." },
      }),
    },
    sees: { fails: /engine died/ },
  },
  {
    quirk: "a body that has only its text",
    providers: "small servers",
    wire: { body: { id: "resp_1", output_text: "Hello" } },
    sees: { text: "Hello" },
  },
] as const satisfies readonly Quirk[];
