import { Fault } from "../../turn/fault.ts";

/** With these characters, a server or a proxy could read another path, also if they are escaped. */
const NOT_IN_PATHS = /[\p{Cc}\p{Cs}\s\\?#%;]/u;
const NOT_SEGMENTS: ReadonlySet<string> = new Set(["", ".", ".."]);

/** A client's name of a model for a path. Throws a Fault if the name could lead to another path. */
export function pathModel(model: string): string {
  if (!NOT_IN_PATHS.test(model) && !model.split("/").some((part) => NOT_SEGMENTS.has(part)))
    return model;
  throw new Fault(
    "request.invalid",
    "`model` cannot be part of a path, where this upstream wants it: leave out blanks, control characters, `\\ ? # % ;`, and parts between slashes that are empty, `.` or `..`.",
    { param: "model" },
  );
}
