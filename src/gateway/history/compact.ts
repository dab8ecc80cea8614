import type { CompactionForm, DoorDialect } from "../../dialects/dialect.ts";
import type { Answer } from "../../stream/fold.ts";
import { isCut } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Turn } from "../../turn/turn.ts";
import type { Reply } from "../http/exchange.ts";
import { withBody } from "../http/read-body.ts";
import { isInBackground, type RecalledRequest } from "./recall.ts";
import { recallRequest } from "./recall-request.ts";
import type { RequestContext } from "../state.ts";
import { sendPieces } from "../http/send-json.ts";
import { toFault } from "../http/to-fault.ts";
import type { Run } from "../run/run.ts";

/** The function that runs a turn, which all routes share. */
export type TurnSteps = {
  readonly startTurn: (
    context: RequestContext,
    request: RecalledRequest,
    over: TurnOverrides,
  ) => void | Promise<void>;
};

export type TurnOverrides = Pick<Run, "dialect" | "answers" | "reply" | "stage">;

type Summary = Answer<ClientName>;

/**
 * Has the model of a request summarize its conversation, by a turn like any
 * other, and answers with the summary, sealed for its tenant.
 */
export function serveCompaction(
  context: RequestContext,
  { door, form }: { readonly door: DoorDialect; readonly form: CompactionForm },
  { startTurn }: TurnSteps,
): void | Promise<void> {
  const { exchange } = context;
  const summarize = (request: RecalledRequest): void | Promise<void> => {
    if (isInBackground(request.turn)) throw notInBackground(request.turn);
    const turn = { ...request.turn, stream: false };
    let summary: Summary | undefined;
    const dialect: DoorDialect = {
      ...door,
      writeAnswer(answer) {
        summary = answer;
        return "";
      },
    };
    const reply = held(exchange.reply, (headers) => {
      if (summary === undefined) throw new Error("an answer is written before it is sent");
      void answerSealed(context, { turn, form, summary }, headers);
    });
    const stage: Run["stage"] = {
      each: (event, emit) => emit(event),
      ask: (_, own) => form.ask(own),
    };
    // The answer of this turn is the summary, which is not stored: the client receives it sealed.
    const over = { dialect, answers: undefined, reply, stage };
    return startTurn(context, { ...request, turn }, over);
  };
  return withBody(context, (body) => recallRequest(context, { dialect: door, body }, summarize));
}

function notInBackground({ traits }: Turn): Fault {
  const param = traits.params.background ?? "";
  return new Fault(
    "request.invalid",
    `\`${param}\` cannot be used to compact a conversation; leave it out.`,
    { param },
  );
}

type Compacted = {
  readonly turn: RecalledRequest["turn"];
  readonly form: CompactionForm;
  readonly summary: Summary;
};

async function answerSealed(
  context: RequestContext,
  { turn, form, summary }: Compacted,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const { state, tenant, requestId, refuse } = context;
  try {
    const seal = await state.seals.seal(tenant, textOf(summary));
    const usage = summary.usage ?? { input: 0, output: 0, total: 0 };
    const id = context.route.door?.newAnswerId(state.newId) ?? state.newId("resp");
    const created = Math.floor(state.clock.date() / 1000);
    const body = form.writeAnswer({ id, created, turn, seal, usage, newId: state.newId });
    // The turn has released its memory by now.
    using held = context.memory.beside();
    held.take(body.length);
    await sendPieces(context, [body], headers);
  } catch (error) {
    refuse(toFault(error, state.report, requestId));
  }
}

function textOf({ choices }: Summary): string {
  const [choice] = choices;
  const text = (choice?.items ?? [])
    .flatMap((item) => (item.type === "message" ? item.parts : []))
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("");
  if (choice !== undefined && isCut(choice.stop))
    throw new Fault("upstream.cut", "The model did not finish its summary; try again.");
  if (text.trim() !== "") return text;
  throw new Fault("upstream.empty", "The model wrote no summary; try again, or another model.");
}

/** A reply that discards the answer and calls `then` with its headers at its end. */
const held = (reply: Reply, then: (headers: Readonly<Record<string, string>>) => void): Reply => {
  let headers: Readonly<Record<string, string>> = {};
  return {
    head(_, given) {
      headers = given;
    },
    write: () => true,
    end: () => then(headers),
    onDrain() {},
    onLeave: (left) => reply.onLeave(left),
  };
};
