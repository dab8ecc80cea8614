import { errorsIn } from "../../schema/check.ts";
import type { Stage } from "../../stream/stage.ts";
import type { OnDecision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { jsonOf } from "../../turn/json.ts";
import type { ClientName } from "../../turn/names.ts";
import type { JsonSchema } from "../../turn/turn.ts";
import type { Plan } from "./plan.ts";

/** A call of a tool whose schema the upstream was not given as it is. */
type Watched = { readonly name: string; readonly schema: JsonSchema; text: string };

/** Whether calls of this plan need looking at: some tool's schema had to be rewritten. */
export const hasRewritten = ({ identity }: Plan): boolean =>
  identity.bindings.some(({ original }) => original !== undefined);

/**
 * Holds the arguments of calls against the client's own schema where the
 * upstream was given another. Nothing is withheld or changed: arguments reach the
 * client as the model wrote them, and a violation is listed in the plan.
 */
export function checkArguments(
  { identity }: Plan,
  report: OnDecision,
): Stage<TurnEvent<ClientName>, TurnEvent<ClientName>> {
  const choices: (Watched | undefined)[][] = [];
  return {
    each(event, emit) {
      emit(event);
      switch (event.type) {
        case "call-start": {
          const { original } = identity.byIdentity(event) ?? {};
          if (original === undefined) return;
          const { name } = event;
          (choices[event.choice] ??= [])[event.call] = { name, schema: original, text: "" };
          return;
        }
        case "call-delta": {
          const call = choices[event.choice]?.[event.call];
          if (call !== undefined) call.text += event.text;
          return;
        }
        case "call-end": {
          const call = choices[event.choice]?.[event.call];
          const flaw = call !== undefined && event.complete ? flawOf(call) : undefined;
          if (call === undefined || flaw === undefined) return;
          const reason = `the arguments of a call of \`${call.name}\` ${flaw}`;
          return report({ path: "output", action: "noticed", reason });
        }
        default:
      }
    },
  };
}

/** What is wrong with a call's arguments, in words of its schema and never in their own. */
function flawOf({ text, schema }: Watched): string | undefined {
  const value = text.trim() === "" ? {} : jsonOf(text);
  if (value === undefined) return "are not JSON";
  const errors = errorsIn(value, schema, text.length);
  if (errors === undefined) return "could not be held against its schema";
  const error = errors.at(-1);
  return error && `break its schema at \`${error.keywordLocation.slice(0, 200)}\``;
}
