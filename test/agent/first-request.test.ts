import * as fc from "fast-check";
import { expect, it } from "vitest";
import { agent, run, section, Session, type Section, type Strategy } from "../../src/agent.ts";
import { named } from "./library.ts";
import { scriptModel, toolNames } from "./script-model.ts";

/** A section as an author and a caller may have written it. */
type Plan = {
  readonly hasSummary: boolean;
  readonly open: "left out" | boolean | "by a function: true" | "by a function: false";
  readonly when: boolean | undefined;
  readonly override: "full" | "summary" | undefined;
  readonly tools: number;
  readonly children: readonly Plan[];
};

const { plans } = fc.letrec<{ readonly plans: readonly Plan[] }>((tie) => ({
  plans: fc.array(
    fc.record({
      hasSummary: fc.boolean(),
      open: fc.constantFrom(
        "left out" as const,
        true,
        false,
        "by a function: true" as const,
        "by a function: false" as const,
      ),
      when: fc.constantFrom(undefined, undefined, true, false),
      override: fc.constantFrom(undefined, undefined, "full" as const, "summary" as const),
      tools: fc.nat(2),
      children: fc.oneof({ depthSize: "small" }, fc.constant([]), tie("plans")),
    }),
    { maxLength: 3, depthIdentifier: "sections" },
  ),
}));

/** A section that can close needs a summary to show then. */
const isSummarized = ({ hasSummary, open }: Plan): boolean =>
  hasSummary || (open !== "left out" && open !== true);

const pathOf = (parent: string, at: number): string =>
  parent === "" ? `s${at}` : `${parent}.s${at}`;

const toolsOf = ({ tools }: Plan, path: string): readonly string[] =>
  Array.from({ length: tools }, (_, at) => `${path.replaceAll(".", "_")}_t${at}`);

const sectionsOf = (some: readonly Plan[], parent = ""): readonly Section[] =>
  some.map((plan, at) => {
    const path = pathOf(parent, at);
    const { open, when, children } = plan;
    return section(`s${at}`, {
      title: `Title ${path}`,
      body: `<body ${path}>`,
      tools: toolsOf(plan, path).map(named),
      children: sectionsOf(children, path),
      ...(isSummarized(plan) && { summary: `<summary ${path}>` }),
      ...(typeof open === "boolean" && { open }),
      ...(open === "by a function: true" && { open: () => true }),
      ...(open === "by a function: false" && { open: () => false }),
      ...(when !== undefined && { when: () => when }),
    });
  });

type Shown = { readonly texts: string[]; readonly tools: string[]; hasClosed: boolean };

/** The expected first request, written from the rules and not from the code. */
function expected(some: readonly Plan[], parent = "", shown?: Shown): Shown {
  const all = shown ?? { texts: [], tools: [], hasClosed: false };
  for (const [at, plan] of some.entries()) {
    if (plan.when === false) continue;
    const path = pathOf(parent, at);
    const { open, override } = plan;
    const written = open === "left out" ? !isSummarized(plan) : String(open).endsWith("true");
    if (override === undefined ? written : override === "full") {
      all.texts.push(`<body ${path}>`);
      all.tools.push(...toolsOf(plan, path));
      expected(plan.children, path, all);
    } else {
      all.hasClosed = true;
      if (isSummarized(plan)) all.texts.push(`<summary ${path}>`);
    }
  }
  return all;
}

function* overridesOf(some: readonly Plan[], parent = ""): Generator<[string, "full" | "summary"]> {
  for (const [at, { override, children }] of some.entries()) {
    const path = pathOf(parent, at);
    if (override !== undefined) yield [path, override];
    yield* overridesOf(children, path);
  }
}

const LOADERS = new Set(["read_section", "call_tool", "tool_search"]);

it.each([
  ["native", { deferred: true }],
  ["wrap", {}],
  ["append", {}],
  ["restart", {}],
  ["restart", { supportsDynamicTools: false }],
  ["auto", {}],
  ["auto", { deferred: true }],
  ["auto", { cachedTools: false }],
  ["auto", { supportsDynamicTools: false }],
] as const)(
  "under %s, on a model with %j, the first request holds exactly what is not closed",
  async (strategy: Strategy | "auto", abilities) => {
    await fc.assert(
      fc.asyncProperty(plans, async (some) => {
        const { adapter, requests } = scriptModel([], abilities);
        const session = new Session();
        for (const [path, visibility] of overridesOf(some)) session.dispatch({ path, visibility });
        const prompt = agent({ name: "any", sections: sectionsOf(some) });
        const result = await run(prompt, {}, { adapter, session, strategy, input: "Go." });
        const [request] = requests;
        if (request === undefined) throw new Error("The model was not asked.");
        const { texts, tools, hasClosed } = expected(some);
        const declared = toolNames(request);
        expect(declared.filter((name) => !LOADERS.has(name))).toEqual(tools);
        expect(declared.some((name) => LOADERS.has(name))).toBe(hasClosed);
        expect(JSON.stringify(request).match(/<(?:body|summary) [^>]+>/g) ?? []).toEqual(texts);
        expect(hasClosed && result.strategy === "eager").toBe(false);
      }),
      { numRuns: 150 },
    );
  },
);
