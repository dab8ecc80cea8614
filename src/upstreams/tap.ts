/** Shows what goes to an upstream and comes from it to somebody who records the turn. */

import type { TurnEvent } from "../turn/event.ts";
import type { UpstreamName } from "../turn/names.ts";
import type { Flow, Source } from "../stream/flow.ts";
import { headerValue, type Headers } from "./retry.ts";
import type { HttpRequest, ResponseController, ResponseHandler } from "./http/transport.ts";

type Event = TurnEvent<UpstreamName>;

/** Sees the upstream side of one turn. What it is shown is its own: nothing is changed later. */
export type WireTap = {
  /** One try of a request over HTTP. */
  request(upstream: string, request: Omit<HttpRequest, "headers"> & FlatHeaders): TryTap;
  /** One answer of an upstream that speaks no HTTP: its messages both ways, and its events. */
  answer(upstream: string): AnswerTap;
};

type FlatHeaders = {
  /** Names and values in turn. */
  readonly headers: readonly string[];
};

export type TryTap = {
  head(status: number, headers: Readonly<Record<string, string>>): void;
  bytes(chunk: Uint8Array): void;
  /** `error`: the connection failed, by the code that its transport has for it. */
  end(error?: string): void;
};

export type AnswerTap = {
  message(direction: "sent" | "received", message: object): void;
  event(event: Event): void;
  end(): void;
};

/** A handler that shows a tap all that another is told. */
export const tapped = (handler: ResponseHandler, tap: TryTap): ResponseHandler => ({
  onRequestStart: (controller) => handler.onRequestStart(controller),
  onResponseStart(controller, status, headers) {
    tap.head(status, flatHeaders(headers));
    handler.onResponseStart(controller, status, headers);
  },
  onResponseData(controller, chunk) {
    tap.bytes(chunk);
    handler.onResponseData(controller, chunk);
  },
  onResponseEnd() {
    tap.end();
    handler.onResponseEnd();
  },
  onResponseError(controller: ResponseController, error: Error) {
    const { code } = error as { readonly code?: unknown };
    tap.end(typeof code === "string" ? code : "stopped");
    handler.onResponseError(controller, error);
  },
});

const flatHeaders = (headers: Headers): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), headerValue(value)]),
  );

/** A source whose events are shown to a tap before anybody else has them. */
export const tappedSource =
  (source: Source<Event>, tap: AnswerTap): Source<Event> =>
  (sink): Flow =>
    source({
      each(event) {
        tap.event(event);
        sink.each(event);
      },
      flush: () => sink.flush(),
      end() {
        tap.end();
        sink.end();
      },
    });
