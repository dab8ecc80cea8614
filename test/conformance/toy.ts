import { framesOf } from "../support/client-answer.ts";
import { frame, type Body } from "../support/fake-upstream.ts";
import { toyDialect } from "../support/toy-dialect.ts";
import { httpBackend, type Backend, type Choice, type WireModel } from "./backend.ts";
import { parameters, type Read, type TestDoor } from "./door.ts";
import { stopOf, type Heard } from "./heard.ts";
import { BROKEN, COUNTS } from "./scenario.ts";

type Part = {
  readonly think?: string;
  readonly say?: string;
  readonly call?: { readonly name: string; readonly input: string };
  readonly count?: { readonly read: number; readonly written: number };
  readonly over?: string;
  readonly broke?: string;
};

function readParts(parts: readonly Part[]): Read {
  const last = parts.at(-1);
  if (last?.over === undefined && last?.broke === undefined) throw new Error("no end was said");
  const joined = (key: "think" | "say"): string => parts.map((part) => part[key] ?? "").join("");
  const count = parts.find((part) => part.count !== undefined)?.count;
  return {
    choices: [
      {
        text: joined("say"),
        reasoning: joined("think"),
        calls: parts.flatMap(({ call }) =>
          call === undefined ? [] : [{ kind: "function", name: call.name, input: call.input }],
        ),
        stop: last.over ?? "",
      },
    ],
    usage: count && { input: count.read, output: count.written },
    error: last.broke,
  };
}

export const toyDoor: TestDoor = {
  name: "toy",
  can: new Set(),
  request: ({ tools, choice, schema }, { model, stream }) => ({
    path: `/toy/${model}:${stream ? "stream" : "whole"}`,
    body: {
      lines: [{ by: "user", text: "Go." }],
      tools: tools?.map(({ name }) => ({ name, takes: parameters })),
      pick: typeof choice === "object" ? choice.name : choice === "required" ? "any" : choice,
      shape: schema,
      count: true,
    },
  }),
  readStream: (text) => readParts(framesOf(text).map(({ data }) => JSON.parse(data) as Part)),
  readBody: (text) => readParts(JSON.parse(text) as Part[]),
  readError: (text) => String((JSON.parse(text) as Part).broke),
};

const partsOf = (choice: Choice): Part[] => [
  ...(choice.reasoning === undefined ? [] : [{ think: choice.reasoning }]),
  ...(choice.text === undefined ? [] : [{ say: choice.text }]),
  ...choice.called.map(({ name, input }) => ({ call: { name, input } })),
  { count: { read: COUNTS.input, written: COUNTS.output } },
  { over: stopOf(choice) },
];

function choiceOf(pick: unknown): Heard["choice"] {
  if (typeof pick !== "string") return "auto";
  if (pick === "any") return "required";
  return pick === "none" ? pick : { name: pick };
}

const wire: WireModel = {
  dialect: "toy",
  can: [],
  custom: toyDialect,
  heard({ path, body }) {
    const [, model = "", verb] = /^\/v1\/models\/(.*):(\w+)$/.exec(path) ?? [];
    return {
      model,
      stream: verb === "stream",
      tools: (body["tools"] as Body[]).map(({ name, takes }) => ({
        kind: "function",
        name,
        schema: takes,
      })),
      choice: choiceOf(body["pick"]),
      schema: body["shape"] as Body | undefined,
    };
  },
  whole: ([choice]) => choice && partsOf(choice),
  stream: ([choice]) => (choice === undefined ? [] : partsOf(choice).map(frame)),
  begin: (text) => [frame({ say: text })],
  error: { body: { error: { message: BROKEN } }, frames: [frame({ broke: BROKEN })] },
};

export const toyBackend: Backend = httpBackend(wire);
