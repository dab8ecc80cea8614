import type { Fields } from "../turn/turn.ts";
import type { SessionView } from "./session.ts";
import { mistake, type Tool } from "./tool.ts";

/** Input of the texts and conditions of sections. */
export type Scope<Params = Fields> = { readonly params: Params; readonly session: SessionView };

/** A text with a `{{name}}` for each parameter, or a function that writes the text. */
export type Text<Params = Fields> = string | ((scope: Scope<Params>) => string);

/** A named group of text and tools. A closed section shows its summary, an open one its body and tools. */
export type Section<Params = Fields> = {
  readonly key: string;
  readonly title: string;
  readonly body: Text<Params>;
  /** Text of the closed section. A section with a summary starts closed, one without starts open. */
  readonly summary?: Text<Params> | undefined;
  /** Overrides the start state that `summary` gives. */
  readonly open?: boolean | ((scope: Scope<Params>) => boolean) | undefined;
  /**
   * Access condition. If it is false, the section and all its descendants do not
   * exist: they are not rendered, listed, readable or callable.
   */
  readonly when?: ((scope: Scope<Params>) => boolean) | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly children?: readonly Section<Params>[] | undefined;
};

/** Dots are not allowed: they join keys to the paths by which models name sections. */
const KEY = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Defines a section. Throws a Fault for an invalid key and for a closable section without a summary. */
export function section<Params = Fields>(
  key: string,
  rest: Omit<Section<Params>, "key">,
): Section<Params> {
  if (!KEY.test(key))
    throw mistake(
      `The section key ${JSON.stringify(key)} must begin with a small letter or digit and go on with those, \`_\` or \`-\`, 64 at most.`,
    );
  if (rest.open !== undefined && rest.open !== true && rest.summary === undefined)
    throw mistake(
      `The section \`${key}\` can be closed and has no summary to show then. Give it a \`summary\`, or leave \`open\` out.`,
    );
  return { key, ...rest };
}

const PLACEHOLDER = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

/** The parameters that a text names. The parameters that a function reads are unknown. */
export const placeholdersIn = (text: Text | undefined): readonly string[] =>
  typeof text === "string" ? [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name) : [];

/** Writes a text for a scope. */
export function bindText(text: Text, scope: Scope): string {
  if (typeof text === "function") return text(scope).trim();
  return text.trim().replaceAll(PLACEHOLDER, (_, name: string) => {
    const value = scope.params[name];
    if (value === undefined)
      throw mistake(`The prompt needs the parameter \`${name}\`, and none was given.`);
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}
