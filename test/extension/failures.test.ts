import { afterEach, describe, expect, it, vi } from "vitest";
import {
  createGateway,
  defineUpstream,
  type Happening,
  type Platform,
  type TurnStage,
  type UpstreamDefinition,
} from "../../src/index.ts";

const SECRET = "the words of a user";

function failHere(): never {
  throw new TypeError(SECRET);
}

const upstream = (answer: UpstreamDefinition["answer"]): Partial<Platform> => ({
  upstreams: [defineUpstream({ name: "own", answer })],
});

/** An upstream that has nothing wrong with it, and a stage that has. */
const stage = (own: TurnStage): Partial<Platform> => ({
  ...upstream(async function* () {
    yield { type: "text-delta", choice: 0, text: "Hello." };
  }),
  stages: [() => own],
});

const failing: Readonly<Record<string, Partial<Platform>>> = {
  "an upstream before its answer": upstream(failHere),
  "an upstream in mid-answer": upstream(async function* () {
    yield { type: "text-delta", choice: 0, text: "Hel" };
    failHere();
  }),
  "a stage that asks": stage({ each: (event, emit) => emit(event), ask: failHere }),
  "a stage that hears an answer": stage({ each: failHere }),
  "a stage between rounds": stage({ each: (event, emit) => emit(event), continues: failHere }),
  "what makes a stage": { ...stage({ each: () => {} }), stages: [failHere] },
};

async function ask(platform: Partial<Platform>, stream: boolean) {
  await using gateway = createGateway({ models: { "*": "own/m" } }, platform);
  const response = await gateway.fetch(
    new Request("http://gateway/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json", "x-request-id": "req_1" },
      body: JSON.stringify({ model: "m", stream, messages: [{ role: "user", content: "Hi" }] }),
    }),
  );
  return { status: response.status, text: await response.text() };
}

afterEach(() => void vi.restoreAllMocks());

describe.each(Object.entries(failing))("an exception in %s", (_, platform) => {
  it.each([true, false])("is reported once with its stack (stream: %s)", async (stream) => {
    const happenings: Happening[] = [];
    const report = (happening: Happening): void => void happenings.push(happening);
    const { status, text } = await ask({ ...platform, report }, stream);
    const troubles = happenings.filter(({ type }) => type === "trouble");
    expect(troubles).toMatchObject([{ requestId: "req_1", error: "TypeError" }]);
    expect(JSON.stringify(troubles)).toContain("failHere");
    expect([200, 500].slice(stream ? 0 : 1)).toContain(status);
    expect(text).toContain("gateway.internal");
    expect(text + JSON.stringify(happenings)).not.toContain(SECRET);
  });

  it("is written to standard error where no `report` is given", async () => {
    const said = vi.spyOn(console, "error").mockReturnValue();
    await ask(platform, false);
    expect(said).toHaveBeenCalledOnce();
    const [line] = said.mock.calls[0] as [string];
    expect(line).toMatch(/TypeError.*req_1[^]*failHere/);
    expect(line).not.toContain(SECRET);
  });
});
