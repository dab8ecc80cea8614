import { Fault } from "../../turn/fault.ts";
import type { Failure } from "../retry.ts";
import { tappedBy, type WireTap } from "../tap.ts";
import type { HttpRequest, ResponseHandler, Transport } from "./transport.ts";

/** What is signed: a request as it is about to be sent. */
export type UnsignedRequest = {
  readonly method: string;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
};

/**
 * Gives the headers that a signature consists of, such as those of AWS. Given by
 * whoever embeds the gateway, by the name of the upstream; asked anew for every try.
 */
export type SignRequest = (
  request: UnsignedRequest,
) => Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;

type Sending = {
  /** The upstream's. */
  readonly name: string;
  readonly sign?: SignRequest | undefined;
  readonly base: URL;
  readonly transport: Pick<Transport, "send">;
  readonly answer: ResponseHandler;
  readonly fail: (failure: Failure) => void;
  /** The connection is not needed after all. */
  readonly closed: () => void;
  readonly tap: WireTap | undefined;
};

/** Sends a request, signed first where there is somebody to do so. */
export function sendSigned(request: HttpRequest, to: Sending): void {
  const { sign, transport } = to;
  const answer = tappedBy(to.tap, to.name, request, to.answer);
  if (sign === undefined) return transport.send(request, answer);
  const { method, path, headers, body } = request;
  const unsigned = { method, url: new URL(path, to.base).href, headers: named(headers), body };
  const send = (signed: Readonly<Record<string, string>>): void => {
    const more = Object.entries(signed).flatMap(([name, value]) => [name.toLowerCase(), value]);
    transport.send({ ...request, headers: [...headers, ...more] }, answer);
  };
  const refuse = (cause: unknown): void => {
    to.closed();
    to.fail({ fault: notSigned(cause), again: false });
  };
  void Promise.resolve()
    .then(() => sign(unsigned))
    .then(send, refuse);
}

function named(headers: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < headers.length; at += 2)
    fields[headers[at] ?? ""] = headers[at + 1] ?? "";
  return fields;
}

const notSigned = (cause: unknown): Fault =>
  new Fault(
    "upstream.auth",
    "The request could not be signed; look at what signs for this upstream.",
    {},
    cause,
  );
