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

it("/metrics tells restarts, expansions without one and injected tools apart", async () => {
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
  const ask = (mode: string) => doors.chat(served.url).ask("Go.", { tools, stream: false, mode });

  expect((await ask("append")).text).toBe("Ok.");
  expect(await numbers()).toEqual({
    wink_tools_injected_total: 15,
    wink_disclosure_dynamic_total: 3,
    wink_disclosure_restarts_total: 0,
  });
  expect((await ask("restart")).text).toBe("Ok.");
  expect(await numbers()).toEqual({
    wink_tools_injected_total: 15,
    wink_disclosure_dynamic_total: 3,
    wink_disclosure_restarts_total: 2,
  });
});
