import { membersOf, type Span } from "../../turn/json-scan.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Fields } from "../../turn/turn.ts";
import { addFields } from "./params.ts";
import { withOwnTools } from "./tools-text.ts";

/** The text of a request body as its client sent it. */
export type SourceText = {
  readonly text: string;
  /** Where its tools stand, if that is known. */
  readonly tools?: Span | undefined;
};

/**
 * Kept at the object that the text was read as, where no copy takes it along: a
 * body in which anything was changed is another object, so it has no text. A weak
 * map in its place would cost every collection of garbage more.
 */
const SOURCE = Symbol("source");
type WithSource = Fields & { [SOURCE]?: SourceText | undefined };

export const keepSource = (body: Fields, source: SourceText): void =>
  void Object.defineProperty(body, SOURCE, { value: source, writable: true });

/** The body is not sent again: its text takes memory for nothing as long as the turn lasts. */
export const dropSource = (body: WithSource): void => {
  if (body[SOURCE] !== undefined) body[SOURCE] = undefined;
};

/** A body with some fields set otherwise: the client's own text but for these, where it is known. */
export function bodyWith(body: WithSource, changes: Fields): string {
  const source = body[SOURCE];
  if (source !== undefined) return withFields(source, changes);
  const { tools, ...rest } = body;
  return withOwnTools({ ...rest, ...changes }, tools);
}

type Forwarded = {
  /** The model's name at the upstream. */
  readonly model: string;
  readonly stream: boolean;
  readonly profile: Profile;
};

/** The fields of a client's own request that an upstream of the same dialect must get with other values. */
export function forwardChanges(body: Fields, { model, stream, profile }: Forwarded): Fields {
  const changes: Record<string, unknown> = {};
  addFields(changes, profile, body);
  if (body.model !== model) changes.model = model;
  if (stream && body.stream !== true) changes.stream = true;
  return changes;
}

/** All else stays as it is, byte for byte. Of a key that is there twice, both are set. */
export function withFields({ text, tools }: SourceText, changes: Fields): string {
  const missing = new Set(Object.keys(changes));
  let written = "";
  let copied = 0;
  let isEmpty = true;
  for (const { key, from, end } of membersOf(text, 0, tools)) {
    isEmpty = false;
    if (!Object.hasOwn(changes, key)) continue;
    missing.delete(key);
    written += text.slice(copied, from) + JSON.stringify(changes[key]);
    copied = end;
  }
  const more = [...missing].map((key) => `${JSON.stringify(key)}:${JSON.stringify(changes[key])}`);
  if (more.length === 0) return written + text.slice(copied);
  const closing = text.lastIndexOf("}");
  const comma = isEmpty ? "" : ",";
  return `${written}${text.slice(copied, closing)}${comma}${more.join(",")}${text.slice(closing)}`;
}
