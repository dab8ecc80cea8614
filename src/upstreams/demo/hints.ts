import { isFields } from "../../turn/json.ts";
import type { Fields } from "../../turn/turn.ts";
import type { Hints } from "./example.ts";
import { typesOf } from "./schema.ts";
import { meaningful, type Named } from "./words.ts";

/** What tools have found out so far, by the name they gave it. */
export type Facts = ReadonlyMap<string, readonly unknown[]>;

const none: Facts = new Map();

/** Draws values for a schema from what the user said and what tools have found. */
export function hintsFrom(about: Named, facts: Facts = none): Hints {
  return {
    values(name, schema, order) {
      const known = facts.get(plainName(name)) ?? [];
      const mentioned = enumerated(schema, about.text);
      if (Array.isArray(schema.enum)) return [...mentioned, ...known];
      const types = typesOf(schema) ?? [];
      const drawn = types.flatMap((type) => ofType(type, { name, schema, order, about }));
      return [
        ...known,
        ...(types.length === 0 ? ofType("string", { name, schema, order, about }) : drawn),
      ];
    },
    wanted: (name, schema) =>
      facts.has(plainName(name)) ||
      enumerated(schema, about.text).length > 0 ||
      labelled(name, about.text) !== undefined,
  };
}

type Wanted = {
  readonly name: string;
  readonly schema: Fields;
  readonly order: number;
  readonly about: Named;
};

function ofType(type: string, wanted: Wanted): readonly unknown[] {
  const { name, schema, order, about } = wanted;
  switch (type) {
    case "string":
      return strings(wanted).flatMap((text) => fitted(text, schema));
    case "integer":
    case "number": {
      const label = Number(labelled(name, about.text));
      const own = Number.isNaN(label) ? [] : [label];
      return [...own, ...about.numbers.slice(order)];
    }
    case "array":
      return lists(wanted);
    default:
      return [];
  }
}

/** The texts that a string of this name is likely to mean, best first. */
function strings({ name, schema, order, about }: Wanted): string[] {
  const { text, quoted, subjects } = about;
  const plain = plainName(name);
  const asked = text.trim().replace(/\s+/g, " ");
  const given = [labelled(name, text), partOfSpeech(plain, text)].filter(
    (one) => one !== undefined,
  );
  const shaped = shapes.flatMap(({ for: names, format, find }) =>
    names.test(plain) || schema.format === format ? (text.match(find) ?? []).slice(0, 1) : [],
  );
  // Words of the user's are never run: only what they marked as a command is.
  if (/^(command|cmd|shell|script)s?$/.test(plain)) return [...backticked(text), "echo demo"];
  if (plain === "code" || plain === "source") return [...backticked(text), "1 + 1"];
  const own = subjects.slice(order);
  const whole = meaningful(asked).size > 0 ? [asked] : [];
  const short = asked.split(" ").length <= 3 ? whole : [];
  if (isFreeText(name)) {
    const spoken = /\b(?:saying|that says|to say)\s+(.+)$/.exec(asked)?.slice(1) ?? [];
    return [
      ...given,
      ...(about.single === undefined ? [...spoken, ...quoted.slice(order), ...whole] : own),
    ];
  }
  return [...given, ...shaped, ...own, ...(order === 0 ? [...quoted, ...short] : [])];
}

/** A parameter that takes whole sentences, by its name. */
export const isFreeText = (name: string): boolean =>
  /^(query|queries|search|question|prompt|text|message|content|input|body|q|topic|instructions?|request)$/.test(
    plainName(name),
  );

const shapes = [
  { for: /e?mail/, format: "email", find: /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/ },
  { for: /ur[il]|link|website/, format: "uri", find: /https?:\/\/[^\s"'<>)]+/ },
  {
    for: /path|file|folder|directory/,
    format: "path",
    find: /(?:[\w.~-]*\/)+[\w.-]+|\b[\w-]+\.\w{1,5}\b/,
  },
  {
    for: /date|day|when|time/,
    format: "date-time",
    find: /\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?/,
  },
  { for: /date|day|when|start|end/, format: "date", find: /\d{4}-\d\d-\d\d/ },
  {
    for: /expression|equation|formula|calculation|math/,
    format: "math",
    find: /[\d(][\d\s+\-*/^().,%]*[\d)]/,
  },
] as const;

const backticked = (text: string): string[] =>
  Array.from(text.matchAll(/`([^`]+)`/g), ([, inner = ""]) => inner);

/** "from Paris to London" for an `origin` and a `destination`. */
function partOfSpeech(plain: string, text: string): string | undefined {
  const word = /^(origin|from|departure|source|start)/.test(plain)
    ? "from"
    : /^(destination|to$|arrival|target|recipient)/.test(plain)
      ? "to"
      : undefined;
  if (word === undefined) return undefined;
  return new RegExp(
    `\\b${word}\\s+(\\p{Lu}[\\p{L}.'-]*(?:\\s+\\p{Lu}[\\p{L}.'-]*)*|\\S+@\\S+|\\w+)`,
    "u",
  ).exec(text)?.[1];
}

/** "title: Foo", "days = 3", "3 days", "limit of 5". */
function labelled(name: string, text: string): string | undefined {
  const words = name
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
  const label = words.join("[\\s_-]*");
  if (label === "" || label.length < 2) return undefined;
  const after = new RegExp(
    `\\b${label}s?\\b\\s*(?:"([^"]+)"|(?:(?:is|are|of|to|as|equals)\\s+|[:=]\\s*)(?:"([^"]+)"|([^\\s,;]+)))`,
    "iu",
  ).exec(text);
  const before = new RegExp(`(-?\\d+(?:\\.\\d+)?)\\s+${label}s?\\b`, "iu").exec(text);
  return (after?.[1] ?? after?.[2] ?? after?.[3])?.replace(/[.?!]$/, "") ?? before?.[1];
}

function enumerated(schema: Fields, text: string): unknown[] {
  const lower = text.toLowerCase();
  const values = Array.isArray(schema.enum) ? schema.enum : [];
  return values.filter(
    (one) => typeof one === "string" && one.length > 1 && lower.includes(one.toLowerCase()),
  );
}

/** A list takes all that was named; items that do not fit are left out. */
function lists({ name, schema, about }: Wanted): unknown[][] {
  const { items } = schema;
  if (!isFields(items)) return [];
  const [type] = typesOf(items) ?? [];
  if (type === "number" || type === "integer")
    return about.numbers.length > 0 ? [[...about.numbers]] : [];
  if (type !== "string") return [];
  if (/^(command|cmd|argv?|args)$/.test(plainName(name))) {
    const [line = "echo demo"] = backticked(about.text);
    return [line.split(/\s+/)];
  }
  const mentioned = enumerated(items, about.text);
  if (mentioned.length > 0) return [mentioned];
  return Array.isArray(items.enum) || about.subjects.length === 0 ? [] : [[...about.subjects]];
}

/** The text itself, and what of it fits a length. */
function fitted(text: string, schema: Fields): string[] {
  const most = schema.maxLength;
  if (typeof most !== "number" || text.length <= most) return [text];
  return [Array.from(text).slice(0, most).join("").trim()];
}

export const plainName = (name: string): string =>
  name.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase();
