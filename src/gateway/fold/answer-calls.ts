import { keyIn, unwrapCall } from "../../agent/loader.ts";
import { readingText, readSection } from "../../agent/catalog.ts";
import { currentState, type Disclosure, violationOf, violationText } from "../../agent/lower.ts";
import type { OpenedBy, VisibilitySet } from "../../agent/session.ts";
import { nearest } from "../../diagnostics/nearest.ts";
import { fullName, identityKey } from "../../tools/names/identity.ts";
import type { Call } from "../../turn/turn.ts";
import type { HiddenExchange } from "../../turn/seal.ts";
import type { Folded, FoldedTool } from "./folded.ts";

/** What a call comes to. */
export type Outcome =
  /** The gateway answers it. `isMiss`: it asked for something that is not there, or wrongly. */
  | { readonly type: "hidden"; readonly exchange: HiddenExchange; readonly isMiss: boolean }
  /** The client runs it. */
  | { readonly type: "client"; readonly tool: FoldedTool; readonly input: string }
  /** Nobody knows the tool, and there is no further round to tell the model so. */
  | { readonly type: "stranger"; readonly name: string; readonly input: string };

/** The folded tool that a model means by a name. */
export const toolNamed = (name: string, { tools, aliases }: Folded): FoldedTool | undefined =>
  tools.get(name) ?? aliases.get(name) ?? undefined;

/** Whether the request declares the called tool and does not allow it. */
export const isForbidden = (
  call: Pick<Call, "kind" | "name" | "namespace">,
  folded: Folded,
): boolean => folded.forbidden.has(identityKey(call));

/** Opens sections from now on. */
function openSections({ scope }: Disclosure, paths: readonly string[], by: OpenedBy): void {
  const session = scope.session as unknown as {
    dispatch(...events: readonly VisibilitySet[]): void;
  };
  for (const path of paths)
    session.dispatch({ type: "visibility-set", path, visibility: "full", by, timestamp: 0 });
}

/**
 * Answers the calls of one round. In the last round there is nobody left to
 * correct: what the model says then is the answer, and the client looks at the
 * arguments itself.
 */
export class CallAnswers {
  readonly #folded: Folded;
  readonly #disclosure: Disclosure;
  readonly #isLast: boolean;

  constructor(folded: Folded, disclosure: Disclosure, isLast: boolean) {
    this.#folded = folded;
    this.#disclosure = disclosure;
    this.#isLast = isLast;
  }

  /** A call of the tool that reads sections. */
  reading(call: Call): Outcome {
    const { catalog, names } = this.#folded;
    const key = keyIn(call.input);
    if (key === undefined)
      return this.#miss(call, "read", `\`${names.read}\` takes {"key": the key of a section}.`);
    const reading = readSection(catalog, key, currentState(this.#disclosure), names.read);
    if (reading.type === "unknown")
      return this.#miss(call, "read", this.#unknownKey(key, reading.message));
    const opens = reading.type === "opened" ? reading.opens : [];
    openSections(this.#disclosure, opens, "model");
    const loaded = reading.tools.map(({ name }) => name);
    const text = readingText(reading);
    const exchange = { id: call.id, of: "read", input: call.input, text, opens, loaded } as const;
    return { type: "hidden", exchange, isMiss: false };
  }

  /** A call of the tool through which others are called. */
  wrapped(call: Call): Outcome {
    const inner = unwrapCall(call.input, this.#folded.names);
    if (!inner.ok) return this.#miss(call, "call", inner.message);
    const tool = toolNamed(inner.name, this.#folded);
    if (tool !== undefined) return this.#checked(call, tool, inner.input, "call");
    if (this.#isLast) return { type: "stranger", name: inner.name, input: inner.input };
    return this.#miss(call, "call", this.#unknownTool(inner.name));
  }

  /** A call of a folded tool by its name, which was not declared in this round. */
  undeclared(call: Call, tool: FoldedTool): Outcome {
    return this.#checked(call, tool, call.input, { tool: tool.name });
  }

  /** A call of a tool that the request does not allow. */
  forbidden(call: Call): Outcome {
    return this.#miss(call, { tool: call.name }, this.#unknownTool(fullName(call)));
  }

  #checked(call: Call, tool: FoldedTool, input: string, of: HiddenExchange["of"]): Outcome {
    const defined = this.#folded.catalog.tools.get(tool.name);
    const problem = defined === undefined || this.#isLast ? undefined : violationOf(defined, input);
    if (problem !== undefined && defined !== undefined)
      return this.#miss(call, of, violationText(defined, problem));
    openSections(this.#disclosure, [tool.section], "call");
    return { type: "client", tool, input: input.trim() === "" ? "{}" : input };
  }

  #miss(call: Call, of: HiddenExchange["of"], text: string): Outcome {
    const { id, input } = call;
    return {
      type: "hidden",
      exchange: { id, of, input, text, opens: [], loaded: [] },
      isMiss: true,
    };
  }

  /** A model that asks for a tool where a section is asked for is told which section has it. */
  #unknownKey(key: string, message: string): string {
    const tool = toolNamed(key.trim(), this.#folded);
    return tool === undefined
      ? message
      : `\`${tool.name}\` is a tool of the section "${tool.section}". Read that.`;
  }

  #unknownTool(name: string): string {
    const near = nearest(name, [...this.#folded.tools.keys()]);
    const told = `There is no tool \`${name.slice(0, 200)}\`.`;
    return near === undefined ? told : `${told} Did you mean \`${near}\`?`;
  }
}
