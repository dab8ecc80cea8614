import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { role, stop, text } from "./chat-frames.ts";
import { ask, doors, told } from "./client.ts";
import { done, fakeUpstream, frame, sse, type Answer, type FakeUpstream } from "./fake-upstream.ts";
import { ontoBoth, serve, type Served } from "./serve.ts";

let answer: Answer;
let upstream: FakeUpstream;
let served: Served;
beforeAll(async () => {
  upstream = await fakeUpstream(() => answer);
  served = await serve(ontoBoth(upstream.url));
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

describe.each(doors)("at the %s door", (door) => {
  describe.each([true, false])("where stream is %s", (stream) => {
    it("an answer whose upstream says behind its end that it failed is no success", async () => {
      const error = { message: "The engine died.", code: "internal_error" };
      answer = sse(...[role, text("Hi"), stop, { error }].map(frame), done);
      const said = await told(door, await ask(served, door, { model: "chat/m", stream }));
      expect(said.error).toMatchObject({ message: expect.stringContaining("The engine died.") });
      expect(said.stop).not.toBe("stop");
      expect(said.stop).not.toBe("completed");
    });
  });
});
