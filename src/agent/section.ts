import { Fault } from "../turn/fault.ts";
import type { Fields } from "../turn/turn.ts";
import type { SessionView } from "./session.ts";
import type { Tool } from "./tool.ts";

/** What texts and conditions of sections may depend on. */
export type Scope<Params = Fields> = { readonly params: Params; readonly session: SessionView };

/** A text with `{{name}}` for each parameter, or a function that writes it. */
type Text<Params = Fields> = string | ((scope: Scope<Params>) => string);

/** A named group of text and tools: a summary that is always shown, a body and tools that are shown when asked for. */
export type Section<Params = Fields> = {
  readonly key: string;
  readonly title: string;
  readonly body: Text<Params>;
  /** Shown while the section is closed. A section with a summary starts closed, one without starts open. */
  readonly summary?: Text<Params> | undefined;
  /** Whether it starts open, where the summary is not to decide that. */
  readonly open?: boolean | ((scope: Scope<Params>) => boolean) | undefined;
  /**
   * Who may know of it. Where it is false the section and all below it do not
   * exist: they are not rendered, listed, readable or callable.
   */
  readonly when?: ((scope: Scope<Params>) => boolean) | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly children?: readonly Section<Params>[] | undefined;
};

/** No dot: dots join keys to paths, which is how the model names a section. */
const KEY = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Defines a section. Throws a Fault where the definition will not do. */
export function section<Params = Fields>(
  key: string,
  rest: Omit<Section<Params>, "key">,
): Section<Params> {
  if (!KEY.test(key))
    throw new Fault(
      "agent.invalid",
      `The section key ${JSON.stringify(key)} must begin with a small letter or digit and go on with those, \`_\` or \`-\`, 64 at most.`,
    );
  if (rest.open !== undefined && rest.open !== true && rest.summary === undefined)
    throw new Fault(
      "agent.invalid",
      `The section \`${key}\` can be closed and has no summary to show then. Give it a \`summary\`, or leave \`open\` out.`,
    );
  return { key, ...rest };
}

const PLACEHOLDER = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

/** The parameters that a text names; those of a function cannot be known. */
export const placeholdersIn = (text: Text | undefined): readonly string[] =>
  typeof text === "string" ? [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name) : [];

/** Writes a text for a scope. */
export function bindText(text: Text, scope: Scope): string {
  if (typeof text === "function") return text(scope).trim();
  return text
    .trim()
    .replaceAll(PLACEHOLDER, (_, name: string) => valueText(scope.params[name], name));
}

function valueText(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  if (value === undefined)
    throw new Fault(
      "agent.invalid",
      `The prompt needs the parameter \`${name}\`, and none was given.`,
    );
  return JSON.stringify(value);
}
