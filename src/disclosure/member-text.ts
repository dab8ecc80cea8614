/**
 * The text of one member of a JSON object, as it stands there: parsing and
 * writing it again would round long numbers. Undefined where the object has no
 * such member. The text must be JSON.
 */
export function memberText(json: string, wanted: string): string | undefined {
  let found: string | undefined;
  let depth = 0;
  let key: string | undefined;
  let start = -1;
  const close = (end: number): void => {
    // Of a name that stands there twice the last one counts, as for JSON.parse.
    if (key === wanted && start !== -1) found = json.slice(start, end).trim();
    key = undefined;
    start = -1;
  };
  for (let at = 0; at < json.length; at++) {
    const char = json[at];
    if (char === '"') {
      const end = endOfString(json, at);
      if (depth === 1 && key === undefined) key = JSON.parse(json.slice(at, end)) as string;
      at = end - 1;
    } else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") {
      if (--depth === 0) close(at);
    } else if (depth === 1 && char === ":") start = at + 1;
    else if (depth === 1 && char === ",") close(at);
  }
  return found;
}

function endOfString(json: string, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at + 1;
}
