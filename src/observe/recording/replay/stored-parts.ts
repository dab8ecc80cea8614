/** Tells whether a recorded request refers to what its gateway had stored, which no bundle holds. */

import { fieldsIn, fieldsOf, listOf } from "../../../dialects/shared/loose.ts";
import { Fault } from "../../../turn/fault.ts";
import type { Bundle } from "../bundle.ts";

/** The fields of a request by which it goes on with something that is stored. */
function storedParts({ request }: Pick<Bundle, "request">): readonly string[] {
  const body = fieldsIn(request.body);
  if (body === undefined) return [];
  const named = ["previous_response_id", "conversation"].filter(
    (key) => (body[key] ?? null) !== null,
  );
  const hasReferences = listOf(body.input)?.some(
    (item) => fieldsOf(item)?.type === "item_reference",
  );
  return hasReferences === true ? [...named, "item_reference"] : named;
}

/** Refuses to compare a turn that reached an upstream then, and cannot without what was stored. */
export function refuseUnstored(bundle: Bundle, reachesUpstream: boolean): void {
  const [part] = storedParts(bundle);
  if (part === undefined || reachesUpstream || bundle.tries.length === 0) return;
  throw new Fault(
    "request.invalid",
    `The turn goes on with what its gateway had stored (\`${part}\`), which is not in the bundle, so it cannot be asked again; record one that sends the conversation itself.`,
  );
}
