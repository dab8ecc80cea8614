import type { Body } from "../support/fake-upstream.ts";

/** A function as clients declare them, in no dialect. */
export type Declared = {
  readonly name: string;
  readonly description: string;
  readonly parameters: Body;
};

const VERBS = [
  "create",
  "list",
  "search",
  "update",
  "close",
  "assign",
  "comment",
  "export",
  "watch",
  "merge",
];
const THINGS = ["ticket", "invoice", "contact", "server", "article", "order"];

/** `count` tools: ten for each thing, of about 780 bytes each, as those of real MCP servers are. */
export const someTools = (count: number, prefix = ""): readonly Declared[] =>
  Array.from({ length: count }, (_, at) => {
    const thing = THINGS[Math.floor(at / VERBS.length) % THINGS.length] ?? "thing";
    const round = Math.floor(at / (VERBS.length * THINGS.length));
    const verb = VERBS[at % VERBS.length] ?? "do";
    return toolCalled(`${prefix}${thing}${round === 0 ? "" : round}_${verb}`, verb, thing);
  });

const toolCalled = (name: string, verb: string, thing: string): Declared => ({
  name,
  description: `Use this to ${verb} one ${thing} of the company. It answers with the ${thing} as it is afterwards, or with what stands in the way. Ask before anything is lost for good.`,
  parameters: {
    type: "object",
    properties: {
      id: {
        type: "string",
        description: `Which ${thing} is meant, by its number, such as ${thing}-1042.`,
      },
      note: { type: "string", description: "What is to be said about it, in a sentence or two." },
      priority: {
        type: "string",
        enum: ["low", "normal", "high", "urgent"],
        description: "How soon.",
      },
      labels: { type: "array", items: { type: "string" }, description: "Labels to put on it." },
    },
    required: ["id"],
    additionalProperties: false,
  },
});

export const inChat = ({ name, description, parameters }: Declared) => ({
  type: "function" as const,
  function: { name, description, parameters },
});

export const inResponses = ({ name, description, parameters }: Declared) => ({
  type: "function" as const,
  name,
  description,
  parameters,
  strict: false,
});
