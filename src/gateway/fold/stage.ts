import {
  currentState,
  unknownTool,
  violationOf,
  violationText,
  keyIn,
  unwrapCall,
} from "../../agent/lower.ts";
import { readingText, readCatalog } from "../../agent/catalog.ts";
import type { OpenedBy } from "../../agent/session.ts";
import { noDisclosure, type DisclosureFigures } from "../../observe/happening.ts";
import { AnswerFold } from "../../stream/fold.ts";
import type { Emit } from "../../stream/stage.ts";
import { fullName, identityKey } from "../../tools/names/identity.ts";
import type { Plan } from "../../tools/plan/plan.ts";
import { append } from "../../turn/append.ts";
import { isCut, type CallStart, type TurnEnd, type TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import { itemPlace } from "../../turn/path.ts";
import type { Profile } from "../../turn/profile.ts";
import { type HiddenExchange, writeSeal } from "../../turn/seal.ts";
import type { Call, Item, Turn } from "../../turn/turn.ts";
import type { Writable } from "../../turn/writable.ts";
import type { TurnStage } from "../run/turn-stage.ts";
import { callIdWith } from "./call-id.ts";
import { type Folded, type FoldedTool, foldTools } from "./fold.ts";
import {
  amendPlan,
  askFolded,
  entriesOf,
  entry,
  type FoldedQuestion,
  openedSection,
  readingOf,
  readingsIn,
  restoreLog,
} from "./question.ts";
import type { DisclosureSettings } from "./settings.ts";

type Event = TurnEvent<ClientName>;

/** A call that is withheld until it is complete. */
type HeldCall = { readonly start: CallStart<ClientName>; readonly settle: Settle; input: string };
type Settle = (call: Call) => Outcome;

/** The result of a complete call. */
type Outcome =
  /** The gateway answers it. `isMiss`: the key, the name or the arguments were wrong. */
  | { readonly exchange: HiddenExchange; readonly isMiss: boolean }
  /** The client runs it: a folded tool, or in the last round any name. */
  | { readonly client: FoldedTool["client"]; readonly input: string };

/** The request of one round, and its answer so far. */
class Round {
  readonly folded: Folded;
  readonly question: FoldedQuestion;
  /** True if no other round may follow: the gateway no longer corrects wrong calls. */
  readonly isLast: boolean;
  readonly answer = new AnswerFold<ClientName>();
  readonly held = new Map<number, HeldCall>();
  /** Unfinished calls that the client receives as they stream. */
  readonly open = new Set<number>();
  /** Events that wait for the end of those calls. */
  waiting: Event[] = [];
  /** The exchanges that the client does not receive, by the id of the call. */
  readonly hidden = new Map<string, HiddenExchange>();
  /** The number of calls that the client receives. */
  clientCalls = 0;
  isCut = false;

  constructor(folded: Folded, question: FoldedQuestion, isLast: boolean) {
    this.folded = folded;
    this.question = question;
    this.isLast = isLast;
  }

  /** True if all calls of the answer were answered by the gateway. */
  get isHidden(): boolean {
    return this.hidden.size > 0 && this.clientCalls === 0 && !this.isCut;
  }
}

/**
 * Folds the tools of one turn and answers the calls of the loaders, in rounds that the client
 * does not see. For an upstream whose tools are not folded, the stage changes nothing.
 */
export class DisclosureStage implements TurnStage {
  readonly figures: Writable<DisclosureFigures> = { ...noDisclosure };
  /** True if the client's dialect has a place for seals. */
  readonly #seals: boolean;
  readonly #settings: DisclosureSettings;
  /** The items of the hidden rounds so far; an answered call is replaced by its exchange. */
  readonly #hiddenItems: (Item | HiddenExchange)[] = [];
  /** Opened sections that no call id carries yet. */
  #uncarried: string[] = [];
  #readings = 0;
  #round: Round | undefined;

  constructor(turn: Turn, settings: DisclosureSettings) {
    this.#seals = turn.traits.sealsReasoning;
    this.#settings = settings;
  }

  ask(profile: Profile, own: Turn): Turn {
    const folded = foldTools(own, profile, this.#settings);
    this.#round = undefined;
    if (folded === undefined) return own;
    const { figures } = this;
    const isLast = figures.hiddenRounds >= this.#settings.rounds;
    const place = own.items.length === 0 ? 0 : itemPlace(own, own.items.length - 1);
    const hidden = this.#hiddenItems.flatMap((one) =>
      "of" in one ? entriesOf(one, folded, place) : [entry(one, place, "model")],
    );
    const log = [...restoreLog(own, folded), ...hidden];
    this.#readings = readingsIn(log, folded);
    const question = askFolded(own, folded, log, !isLast);
    figures.strategy = folded.strategy;
    figures.tools = folded.tools.size;
    figures.sections = folded.catalog.nodes.length;
    figures.eagerBytes += folded.eagerBytes;
    figures.sentBytes += question.sentBytes;
    this.#round = new Round(folded, question, isLast);
    return question.turn;
  }

  amend(plan: Plan): Plan {
    return this.#round === undefined ? plan : amendPlan(plan, this.#round.question);
  }

  each(event: Event, emit: Emit<Event>): void {
    const round = this.#round;
    if (round === undefined) return emit(event);
    round.answer.each(event);
    switch (event.type) {
      case "call-start":
        return this.#start(round, event, emit);
      case "call-delta": {
        const held = round.held.get(event.call);
        if (held === undefined) return emit(event);
        held.input += event.text;
        return;
      }
      case "call-end": {
        const held = round.held.get(event.call);
        // A truncated call is neither answered nor forwarded.
        if (held !== undefined) return event.complete ? this.#settle(round, held, emit) : undefined;
        emit(event);
        round.open.delete(event.call);
        return release(round, emit);
      }
      case "turn-end":
        return endAnswer(round, event, emit);
      default:
        emit(event);
    }
  }

  end(emit: Emit<Event>): void {
    if (this.#round === undefined) return;
    this.#round.open.clear();
    release(this.#round, emit);
  }

  continues(): boolean {
    const round = this.#round;
    if (round === undefined || !round.isHidden || round.isLast) return false;
    for (const item of round.answer.items(0)) {
      const one = item.type === "call" ? round.hidden.get(item.id) : item;
      if (one !== undefined) this.#hiddenItems.push(one);
    }
    this.figures.hiddenRounds++;
    return true;
  }

  #start(round: Round, event: CallStart<ClientName>, emit: Emit<Event>): void {
    const tool = event.kind === "function" ? declaredTool(round, event.name) : undefined;
    const settle = settlementOf(round, event, tool);
    if (settle !== undefined) {
      round.held.set(event.call, { start: event, settle, input: "" });
      return;
    }
    round.clientCalls++;
    round.open.add(event.call);
    const id = this.#idFor(round, event.id);
    const { namespace: _, ...rest } = event;
    if (tool !== undefined) emit({ ...rest, ...tool.client, id });
    else emit(id === event.id ? event : { ...event, id });
  }

  #settle(round: Round, { start, settle, input }: HeldCall, emit: Emit<Event>): void {
    const { choice, call, type: _, ...rest } = start;
    const outcome = settle({ ...rest, type: "call", input });
    if ("exchange" in outcome) {
      const hidden = this.#answered(round, outcome);
      round.hidden.set(start.id, hidden);
      if (!this.#seals) return;
      round.waiting.push(
        { type: "reasoning-start", choice },
        { type: "reasoning-end", choice, encrypted: writeSeal({ from: "", hidden }) },
      );
    } else {
      round.clientCalls++;
      const { namespace: __, itemId: ___, ...bare } = start;
      const id = this.#idFor(round, start.id);
      round.waiting.push(
        { ...bare, ...outcome.client, kind: "function", id },
        { type: "call-delta", choice, call, text: outcome.input },
        { type: "call-end", choice, call, complete: true },
      );
    }
    release(round, emit);
  }

  /** Counts an exchange. Returns it in the form that the next request can restore. */
  #answered({ folded }: Round, { exchange, isMiss }: Extract<Outcome, { isMiss: boolean }>) {
    const { figures } = this;
    const { opens, loaded } = exchange;
    if (isMiss) figures.misses++;
    if (opens.length > 0) {
      figures.openings += opens.length;
      figures.dynamic++;
      figures.injected += loaded.length;
    }
    if (this.#seals) return exchange;
    // A client without a place for seals returns only call ids: the reading must follow from them.
    append(this.#uncarried, opens);
    const [path] = opens;
    const restorable = path === undefined ? undefined : readingOf(path, ++this.#readings, folded);
    return restorable ?? exchange;
  }

  /** The id that the client receives for a call. */
  #idFor({ folded }: Round, id: string): string {
    if (this.#uncarried.length === 0) return id;
    const carrying = callIdWith(this.#uncarried, folded.catalog, id);
    this.#uncarried = [];
    return carrying ?? id;
  }
}

/** Emits the waiting events, unless a call is unfinished: no block may begin within a call. */
function release(round: Round, emit: Emit<Event>): void {
  if (round.open.size > 0) return;
  const ready = round.waiting;
  round.waiting = [];
  for (const event of ready) emit(event);
}

/** Ends the answer. If the model calls a loader in the last round, the answer is incomplete, or fails without any text. */
function endAnswer(round: Round, event: TurnEnd, emit: Emit<Event>): void {
  round.isCut = isCut(event.stop);
  if (round.isHidden && round.isLast) {
    const hasText = round.answer.items(0).some(({ type }) => type === "message");
    if (!hasText) return emit({ type: "turn-fail", fault: roundsUsedUp() });
    return emit({ ...event, stop: "length" });
  }
  emit(event.stop === "calls" && round.clientCalls === 0 ? { ...event, stop: "end" } : event);
}

/** The folded tool with a name, if the round declares it: its calls are forwarded as they stream. */
function declaredTool({ folded, question }: Round, name: string): FoldedTool | undefined {
  const isLoaded = folded.strategy === "native" || question.list.declared.has(name);
  return isLoaded ? folded.tools.get(name) : undefined;
}

/** The folded tool that a model means by a name. */
const namedTool = ({ tools, aliases }: Folded, name: string): FoldedTool | undefined =>
  tools.get(name) ?? aliases.get(name) ?? undefined;

/** The function that settles a complete call; undefined if the call is forwarded as it streams. */
function settlementOf(
  round: Round,
  event: CallStart<ClientName>,
  declared: FoldedTool | undefined,
): Settle | undefined {
  const { names, strategy, forbidden, direct } = round.folded;
  const { kind, name, namespace } = event;
  const isFunction = kind === "function";
  if (
    isFunction ? name === clientName(names.read) : kind === "tool_search" && strategy === "native"
  )
    return (call) => readIn(round, call);
  if (!isFunction) return undefined;
  if (name === clientName(names.call) && strategy === "wrap")
    return (call) => unwrapIn(round, call);
  if (forbidden.has(identityKey(event)))
    return (call) => miss(call, { tool: name }, unknownIn(round, fullName(call)));
  const isDirect = direct.some((tool) =>
    tool.type === "namespace"
      ? tool.name === namespace && tool.tools.some((member) => member.name === name)
      : namespace === undefined && tool.name === name,
  );
  const tool = declared !== undefined || isDirect ? undefined : namedTool(round.folded, name);
  return (
    tool && ((call) => checked(round, { call, tool, input: call.input, of: { tool: tool.name } }))
  );
}

/** Answers a call of the tool that reads sections. */
function readIn(round: Round, call: Call): Outcome {
  const { folded, question } = round;
  const { catalog, names } = folded;
  const key = keyIn(call.input);
  if (key === undefined)
    return miss(call, "read", `\`${names.read}\` takes {"key": the key of a section}.`);
  const reading = readCatalog(catalog, key, currentState(question.disclosure), names.read);
  if (reading.type === "unknown") {
    // The key may be the name of a tool: the answer names its section.
    const tool = namedTool(folded, key.trim());
    const hint = tool && `\`${tool.name}\` is a tool of the section "${tool.section}". Read that.`;
    return miss(call, "read", hint ?? reading.message);
  }
  const opens = reading.type === "opened" ? reading.opens : [];
  openSections(round, opens, "model");
  const loaded = reading.tools.map(({ name }) => name);
  const text = readingText(reading);
  const { id, input } = call;
  return { exchange: { id, of: "read", input, text, opens, loaded }, isMiss: false };
}

/** Settles a call of the tool that calls other tools by name. */
function unwrapIn(round: Round, call: Call): Outcome {
  const inner = unwrapCall(call.input, round.folded.names);
  if (!inner.ok) return miss(call, "call", inner.message);
  const { name, input } = inner;
  const tool = namedTool(round.folded, name);
  if (tool !== undefined) return checked(round, { call, tool, input, of: "call" });
  if (round.isLast) return { client: { name: clientName(name) }, input };
  return miss(call, "call", unknownIn(round, name));
}

type Checking = {
  readonly call: Call;
  readonly tool: FoldedTool;
  readonly input: string;
  readonly of: HiddenExchange["of"];
};

/** Checks the arguments of a call. In the last round the client checks them. */
function checked(round: Round, { call, tool, input, of }: Checking): Outcome {
  const defined = round.isLast ? undefined : round.folded.catalog.tools.get(tool.name);
  const problem = defined && violationOf(defined, input);
  if (problem !== undefined && defined !== undefined)
    return miss(call, of, violationText(defined, problem));
  openSections(round, [tool.section], "call");
  return { client: tool.client, input: input.trim() === "" ? "{}" : input };
}

const miss = ({ id, input }: Call, of: HiddenExchange["of"], text: string): Outcome => ({
  exchange: { id, of, input, text, opens: [], loaded: [] },
  isMiss: true,
});

const unknownIn = ({ folded }: Round, name: string): string =>
  unknownTool(name, [...folded.tools.keys()]);

const openSections = ({ question }: Round, paths: readonly string[], by: OpenedBy): void =>
  question.disclosure.scope.session.dispatch(...paths.map((path) => openedSection(path, by)));

const roundsUsedUp = (): Fault =>
  new Fault(
    "disclosure.rounds",
    "The model used up the rounds in which it may ask about folded tools, and gave no answer. Raise `tools.disclosure.rounds`, or declare fewer tools.",
  );
