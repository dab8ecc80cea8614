import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bodyForms, chatBody, chatChunks, chatForms } from "../support/chat-forms.ts";
import {
  askWithin,
  readAnswer,
  readDoors,
  type DoorName,
  type ReadDoor,
} from "../support/client.ts";
import { json, sse, type Answer } from "../support/fake-upstream.ts";
import { responsesBody, responsesForms, responsesFrames } from "../support/responses-forms.ts";
import {
  anyAnswer,
  wireBytes,
  anyWireForm,
  type Named,
  type RandomAnswer,
} from "../support/random-answers.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

let answer: Answer;
const here = sharedGateway(() => answer);

const showsThoughts = { generationConfig: { thinkingConfig: { includeThoughts: true } } };
const valueOf = (input: string): unknown => JSON.parse(input === "" ? "{}" : input);

/** What a client hears as a stream, and as a whole. */
async function heard(door: ReadDoor, dialect: DoorName): Promise<unknown[]> {
  const both: unknown[] = [];
  for (const stream of [true, false]) {
    const response = await askWithin(here.served, door, {
      model: `${dialect}/m`,
      stream,
      ...(door === "gemini" && showsThoughts),
    });
    const { text, reasoning, calls, error } = await readAnswer(door, response);
    const called = calls.map(({ name, input, complete }) => [name, valueOf(input), complete]);
    both.push({ text, reasoning, calls: called, error });
  }
  return both;
}

/** That, if it is what was said and nothing else. */
function meant({ text, reasoning, calls }: RandomAnswer): unknown[] {
  const called = calls.map(({ name, args }) => [name, valueOf(args), true]);
  const one = { text, reasoning, calls: called, error: undefined };
  return [one, one];
}

const numRuns = 40;

describe.each(readDoors)("what a model says is what a client hears at the %s door", (door) => {
  it("in whatever form a chat upstream streams it", async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswer, chatForms, anyWireForm, async (said, form, wiring) => {
        const frames: Named[] = chatChunks(said, form).map((value) => ({ value }));
        if (form.done || form.finish === "never") frames.push({ value: "[DONE]" });
        answer = sse(...wireBytes(frames, wiring));
        expect(await heard(door, "chat")).toEqual(meant(said));
      }),
      { numRuns },
    );
  });

  it("in whatever form a chat upstream answers it", async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswer, bodyForms, async (said, form) => {
        answer = json(chatBody(said, form), 200, { "content-type": form.type });
        expect(await heard(door, "chat")).toEqual(meant(said));
      }),
      { numRuns },
    );
  });

  it("in whatever form a Responses upstream streams it", async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswer, responsesForms, anyWireForm, async (said, form, wiring) => {
        answer = sse(...wireBytes(responsesFrames(said, form), wiring));
        expect(await heard(door, "responses")).toEqual(meant(said));
      }),
      { numRuns },
    );
  });

  it("in whatever form a Responses upstream answers it", async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswer, responsesForms, async (said, form) => {
        answer = json(responsesBody(said, form));
        expect(await heard(door, "responses")).toEqual(meant(said));
      }),
      { numRuns },
    );
  });
});
