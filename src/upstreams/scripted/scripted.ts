import { type DialectRegistry, standIns } from "../../dialects/registry.ts";
import { writeParams } from "../../dialects/shared/params.ts";
import type { Source } from "../../stream/flow.ts";
import type { Clock, NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Turn } from "../../turn/turn.ts";
import { scripted } from "../../profiles/scripted.ts";
import { readScript, type Script, type ScriptTurn } from "./script.ts";
import { actionsOf, type Action } from "./steps.ts";
import { lastUserText, modelTurns, joinText } from "../turn-text.ts";
import type { Upstream } from "../upstream.ts";

type Event = TurnEvent<UpstreamName>;

export type ScriptedOptions = {
  readonly name: string;
  /** YAML or JSON text, or what that parses to. */
  readonly script: unknown;
  readonly profile?: Profile | undefined;
  /** The dialects that raw steps may be in. */
  readonly dialects?: Pick<DialectRegistry, "get"> | undefined;
  readonly newId: NewId;
  readonly clock: Clock;
};

/** A request as the upstream got it. */
type ScriptedRequest = {
  readonly turn: Turn<UpstreamName>;
  readonly model: string;
  readonly requestId: string;
};

export type ScriptedUpstream = Upstream & {
  /** The last hundred, oldest first. */
  requests(): readonly ScriptedRequest[];
};

const MAX_REQUESTS = 100;

/** An upstream that answers from a script, for trials and tests. */
export function scriptedUpstream(options: ScriptedOptions): ScriptedUpstream {
  const { name, clock, profile = scripted } = options;
  const script = readScript(options.script, name);
  const requests: ScriptedRequest[] = [];
  let asked = 0;
  return {
    name,
    profile,
    prepare: (turn, { model, profile: modelProfile }) => ({
      decisions: writeParams(turn, standIns.scripted, modelProfile).decisions,
      open({ requestId }) {
        const position = script.sequence === "requests" ? asked : modelTurns(turn.items);
        asked++;
        requests.push({ turn, model, requestId });
        if (requests.length > MAX_REQUESTS) requests.shift();
        const found = chooseTurn(script, turn, { model, position });
        const actions =
          found === undefined
            ? [{ type: "turn-fail" as const, fault: scriptOver(name, script, position) }]
            : actionsOf(found.steps, { ...options, turn, model, position });
        return play(actions, clock);
      },
    }),
    models: async () => script.models,
    close: async () => {},
    requests: () => requests,
  };
}

/** The first turn whose conditions hold; else the one at this position. */
function chooseTurn(
  script: Script,
  turn: Turn<UpstreamName>,
  { model, position }: { model: string; position: number },
): ScriptTurn | undefined {
  const last = turn.items.at(-1);
  const result = last?.type === "result" ? joinText(last.parts) : undefined;
  const user = lastUserText(turn);
  const matching = script.turns.find(
    ({ when }) =>
      when !== undefined &&
      (when.user?.test(user) ?? true) &&
      (when.model?.test(model) ?? true) &&
      (when.position === undefined || when.position === position) &&
      (when.result === undefined || (result !== undefined && when.result.test(result))),
  );
  return matching ?? script.turns.filter(({ when }) => when === undefined)[position];
}

function scriptOver(name: string, script: Script, position: number): Fault {
  const inSequence = script.turns.filter(({ when }) => when === undefined).length;
  return new Fault(
    "upstream.said_error",
    `The script of upstream \`${name}\` has ${inSequence} turns in sequence and this would be number ${position + 1}. Add a turn, or one with a \`when\` that fits.`,
  );
}

/** A source of the actions' events, with their delays. */
function play(actions: Iterable<Action>, clock: Clock): Source<Event> {
  return (sink) => {
    const rest = actions[Symbol.iterator]();
    let state: "running" | "paused" | "over" = "running";
    let waiting = false;
    let cancelTimer = (): void => {};

    const run = (): void => {
      while (state === "running" && !waiting) {
        const { done, value: action } = rest.next();
        if (done === true) {
          state = "over";
          sink.flush();
          sink.end();
        } else if (action.type === "delay" || action.type === "hang") {
          waiting = true;
          sink.flush();
          if (action.type === "delay") cancelTimer = clock.at(clock.now() + action.ms, wake);
        } else {
          sink.each(action);
          sink.flush();
        }
      }
    };
    const wake = (): void => {
      waiting = false;
      run();
    };
    queueMicrotask(run);
    return {
      pause: () => void (state === "running" && (state = "paused")),
      resume() {
        if (state !== "paused") return;
        state = "running";
        queueMicrotask(run);
      },
      stop() {
        state = "over";
        cancelTimer();
      },
    };
  };
}
