import { firstMember, nextMember, type Span } from "../../json/scan.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields, Turn } from "../../turn/turn.ts";
import type { Target } from "../dialect.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { addFields } from "./params.ts";

/** A body with its tools inserted as text: they are by far the longest part. */
export const withTools = (body: Fields, tools: string): string =>
  `${JSON.stringify(body).slice(0, -1)},"tools":${tools}}`;

/** The same with the tools as the client sent them. */
function withOwnTools(body: Fields, tools: unknown): string {
  if (!Array.isArray(tools)) return JSON.stringify({ ...body, tools });
  return withTools(body, listText(tools));
}

const listText = memoizeByIdentity((list: readonly unknown[]): string => JSON.stringify(list));

/** The text of a request body as its client sent it. */
type SourceText = {
  readonly text: string;
  /** The span of its tools, if it is known. */
  readonly tools?: Span | undefined;
};

/**
 * The key of the text at the object that was read from it. Copies do not take it along, so a changed
 * body has no text. A weak map would make every garbage collection slower.
 */
const SOURCE = Symbol("source");
type WithSource = Fields & { [SOURCE]?: SourceText | undefined };

export const keepSource = (body: Fields, source: SourceText): void =>
  void Object.defineProperty(body, SOURCE, { value: source, writable: true });

/** Frees the text of a body that will not be sent again. */
export const dropSource = (body: WithSource): void => {
  if (body[SOURCE] !== undefined) body[SOURCE] = undefined;
};

/** A body with changed fields: the client's own text apart from these, if the text is known. */
export function bodyWith(body: WithSource, changes: Fields): string {
  const source = body[SOURCE];
  if (source !== undefined) return withFields(body, source, changes);
  const { tools, ...rest } = body;
  return withOwnTools({ ...rest, ...changes }, tools);
}

/**
 * The client's own request for an upstream of the same dialect, with the fields that this upstream
 * must get with other values; `more`: further such fields.
 */
export function forwardedText(
  { body, stream }: Pick<Turn<UpstreamName>, "body" | "stream">,
  { model, profile }: Pick<Target, "model" | "profile">,
  more?: Fields,
): string {
  const changes: Record<string, unknown> = {};
  addFields(changes, profile, body);
  if (body.model !== model) changes.model = model;
  if (stream && body.stream !== true) changes.stream = true;
  return bodyWith(body, more === undefined ? changes : { ...changes, ...more });
}

/** Keeps everything else, byte for byte. A repeated key is set everywhere. */
export function withFields(body: Fields, { text, tools }: SourceText, changes: Fields): string {
  let written = "";
  let added = "";
  let copied = 0;
  let isSet = false;
  for (const key in changes)
    if (Object.hasOwn(body, key)) isSet = true;
    else added += `,${JSON.stringify(key)}:${JSON.stringify(changes[key])}`;
  let member = isSet ? firstMember(text, 0, tools) : undefined;
  for (; member !== undefined; member = nextMember(text, member.end, tools)) {
    const { key, from, end } = member;
    if (!Object.hasOwn(changes, key)) continue;
    written += text.slice(copied, from) + JSON.stringify(changes[key]);
    copied = end;
    // A search is faster than to follow the members, and most often `model` comes first.
    if (!mayFollow(text, end, changes)) break;
  }
  if (added === "") return written + text.slice(copied);
  const closing = text.lastIndexOf("}");
  const more = Object.keys(body).length === 0 ? added.slice(1) : added;
  return written + text.slice(copied, closing) + more + text.slice(closing);
}

/** True if the text from `from` on may have a key of the changes; an escape may spell any of them. */
function mayFollow(text: string, from: number, changes: Fields): boolean {
  if (text.includes("\\u", from)) return true;
  for (const key in changes) if (text.includes(`"${key}"`, from)) return true;
  return false;
}
