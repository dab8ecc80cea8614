import { expect, it } from "vitest";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { doors } from "./doors.ts";
import { someTools } from "./tools.ts";

const tools = someTools(60);
const read = (key: string, id = `read_${key}`) => ({
  id,
  name: "read_section",
  arguments: JSON.stringify({ key }),
});
/** Opens one section, then two at once of which one is open already, then answers. */
const answers = [
  { calls: [read("ticket_1")] },
  { calls: [read("invoice_1"), read("contact_1"), read("ticket_1", "again")] },
  { text: "Ok." },
];

it("/metrics tells readings that opened sections and the tools that they added apart", async () => {
  await using upstream = await fakeUpstream(({ body }, at) =>
    answerInChat(body, answers[at % answers.length] ?? {}),
  );
  await using served = await serve(onto("chat", upstream.url));
  const numbers = async () => {
    const text = await (await fetch(`${served.url}/metrics`)).text();
    return Object.fromEntries(
      [...text.matchAll(/^(wink_\w+)\{upstream="\w+"\} (\d+)$/gm)].map(([, name, value]) => [
        name,
        Number(value),
      ]),
    );
  };
  const ask = (mode: string) => doors.chat(served).ask("Go.", { tools, stream: false, mode });

  expect((await ask("append")).text).toBe("Ok.");
  expect(await numbers()).toEqual({
    wink_tools_injected_total: 15,
    wink_disclosure_dynamic_total: 3,
  });
});

it("patchbay_tools_total counts the tools of a turn once, however many rounds it takes", async () => {
  await using upstream = await fakeUpstream(({ body }, at) =>
    answerInChat(body, answers[at % answers.length] ?? {}),
  );
  await using served = await serve(onto("chat", upstream.url));
  for (const mode of ["wrap", "append"]) {
    const before = await toolsCounted(served.url);
    await doors.chat(served).ask("Go.", { tools, stream: false, mode });
    expect((await toolsCounted(served.url)) - before).toBe(60);
  }
});

async function toolsCounted(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const counts = [...text.matchAll(/^patchbay_tools_total\{.*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
