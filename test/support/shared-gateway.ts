import { afterAll, beforeAll } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { fakeUpstream, type FakeUpstream, type Model } from "./fake-upstream.ts";
import { ontoEach, serve, type Served } from "./serve.ts";

export type SharedGateway = { readonly served: Served; readonly upstream: FakeUpstream };

/** A gateway before both dialects of one upstream that stands for all tests of a file. */
export function sharedGateway(
  model: Model,
  config: (url: string) => ConfigInput = ontoEach,
): SharedGateway {
  let upstream: FakeUpstream | undefined;
  let served: Served | undefined;
  beforeAll(async () => {
    upstream = await fakeUpstream(model);
    served = await serve(config(upstream.url));
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await upstream?.[Symbol.asyncDispose]();
  });
  return {
    get served() {
      return there(served);
    },
    get upstream() {
      return there(upstream);
    },
  };
}

function there<T>(one: T | undefined): T {
  if (one === undefined) throw new Error("it stands only while tests run");
  return one;
}
