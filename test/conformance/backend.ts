import type { ConfigInput, Dialect, Upstream } from "../../src/index.ts";
import {
  fakeUpstream,
  hang,
  json,
  sse,
  type Answer,
  type ReceivedRequest,
  type Step,
} from "../support/fake-upstream.ts";
import { callsOf, type Heard, type UpstreamCall } from "./heard.ts";
import { BROKEN, scenarioOf, type Capability, type Said } from "./scenario.ts";

/** One kind of upstream, and a model behind it that plays the scenario its name says. */
export type Backend = {
  readonly name: string;
  readonly can: ReadonlySet<Capability>;
  open(): Promise<OpenBackend>;
};

export type OpenBackend = AsyncDisposable & {
  readonly config?: NonNullable<ConfigInput["upstreams"]>[string];
  readonly upstream?: Upstream;
  readonly dialect?: Dialect;
  /** What it was asked last, where that can be seen. */
  heard(): Heard | undefined;
  /** Settles when the last turn was let go before its end. */
  left(): Promise<void>;
};

/** What one choice of an answer holds, in the words of the upstream. */
export type Choice = Said & { readonly called: readonly UpstreamCall[] };

/** How a dialect over HTTP is answered. */
export type WireModel = {
  readonly dialect: string;
  readonly can: readonly Capability[];
  readonly custom?: Dialect;
  heard(request: ReceivedRequest): Heard & { readonly model: string; readonly stream: boolean };
  whole(choices: readonly Choice[]): unknown;
  stream(choices: readonly Choice[]): readonly Step[];
  /** The beginning of a stream that says some text. */
  begin(text: string): readonly Step[];
  readonly error: { readonly body: unknown; readonly frames: readonly Step[] };
};

export const httpBackend = (wire: WireModel): Backend => ({
  name: wire.dialect,
  can: new Set<Capability>(["heard", "left", ...wire.can]),
  async open() {
    let last: ReceivedRequest | undefined;
    const server = await fakeUpstream((request) => {
      last = request;
      return answerTo(request, wire);
    });
    return {
      config: { dialect: wire.dialect, base_url: server.url, retries: 0 },
      ...(wire.custom && { dialect: wire.custom }),
      heard: () => last && wire.heard(last),
      left: () => last?.closed ?? Promise.resolve(),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
});

function answerTo(request: ReceivedRequest, wire: WireModel): Answer {
  const heard = wire.heard(request);
  const scenario = scenarioOf(heard.model);
  const { plays } = scenario;
  switch (plays.type) {
    case "answer": {
      const choices = plays.says.map((say) => ({ ...say, called: callsOf(say, scenario, heard) }));
      return heard.stream ? sse(...wire.stream(choices)) : json(wire.whole(choices));
    }
    case "fail":
      return plays.after === undefined
        ? json(wire.error.body, 503)
        : sse(...wire.begin(plays.after), ...wire.error.frames);
    case "hang":
      return sse(...wire.begin(plays.text), hang);
    default:
      return plays satisfies never;
  }
}

export const failure = { message: BROKEN, code: "broken", type: "server_error" };
