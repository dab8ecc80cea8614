/** Shows the requests and answers of an upstream to the recorder of the turn. */

import type { TurnEvent } from "../turn/event.ts";
import type { UpstreamName } from "../turn/names.ts";
import type { Flow, Source } from "../stream/flow.ts";
import { headerValue, type Headers } from "./retry.ts";
import type { HttpRequest, ResponseController, ResponseHandler } from "./http/transport.ts";

type Event = TurnEvent<UpstreamName>;

/** Receives the upstream side of one turn. The objects it receives are not changed later. */
export type WireTap = {
  /** One try of a request over HTTP. */
  request(upstream: string, request: Omit<HttpRequest, "headers"> & FlatHeaders): TryTap;
  /** One answer of an upstream without HTTP: its messages both ways, and its events. */
  answer(upstream: string): AnswerTap;
};

type FlatHeaders = {
  /** Names and values in turn. */
  readonly headers: readonly string[];
};

export type TryTap = {
  head(status: number, headers: Readonly<Record<string, string>>): void;
  bytes(chunk: Uint8Array): void;
  /** `error`: the transport's code of a connection that failed. */
  end(error?: string): void;
};

export type AnswerTap = {
  message(direction: "sent" | "received", message: object): void;
  event(event: Event): void;
  end(): void;
};

/** A handler that shows a tap all calls of another handler. */
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

/** A source that shows its events to a tap before it emits them. */
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
