import { append } from "../../turn/append.ts";
import type { Emit } from "../../stream/stage.ts";
import type { Plan } from "../../tools/plan/plan.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import { itemPlace } from "../../turn/path.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Turn } from "../../turn/turn.ts";
import type { TurnStage } from "../run/turn-stage.ts";
import { amendPlan } from "./amend-plan.ts";
import { askFolded, type FoldedQuestion } from "./ask.ts";
import { callIdWith } from "./call-id.ts";
import type { HiddenExchange } from "../../turn/seal.ts";
import { noDisclosure, type DisclosureFigures } from "../../observe/happening.ts";
import { foldTools } from "./fold.ts";
import type { Folded } from "./folded.ts";
import { entriesOf, readingOf, readingsIn, restoreLog, type LogEntry } from "./log.ts";
import { mayFold } from "./needs-folding.ts";
import { RoundAnswer } from "./round-answer.ts";
import type { DisclosureSettings } from "./settings.ts";
import type { Writable } from "../../turn/writable.ts";

type Event = TurnEvent<ClientName>;

/** What the model said in a hidden round: items, and calls that were answered here. */
type Said = ReturnType<RoundAnswer["items"]>;

/**
 * Folds the tools of one turn and answers what the model asks of the fold, in
 * rounds that the client sees nothing of. Where an upstream of the chain takes
 * the tools as they are, it does nothing.
 */
export class DisclosureStage implements TurnStage {
  readonly figures: Writable<DisclosureFigures> = { ...noDisclosure };
  readonly #turn: Turn;
  readonly #settings: DisclosureSettings;
  /** All that was said in the rounds so far. */
  readonly #said: Said[number][] = [];
  /** Openings that no call id carries yet. */
  #uncarried: string[] = [];
  #readings = 0;
  /** Whether this round has opened what only a request written anew can show. */
  #restarts = false;
  #folded: Folded | undefined;
  #question: FoldedQuestion | undefined;
  #round: RoundAnswer | undefined;

  constructor(turn: Turn, settings: DisclosureSettings) {
    this.#turn = turn;
    this.#settings = settings;
  }

  ask(profile: Profile, own: Turn): Turn {
    const folded = foldTools(own, profile, this.#settings);
    this.#folded = folded;
    this.#round = undefined;
    this.#restarts = false;
    if (folded === undefined) return own;
    const isLast = this.figures.hiddenRounds >= this.#settings.rounds;
    const log = [...restoreLog(own, folded), ...this.#entries(folded, own)];
    this.#readings = readingsIn(log, folded);
    const question = askFolded(own, folded, log, !isLast);
    this.#question = question;
    this.#count(folded, question.sentBytes);
    this.#round = new RoundAnswer({
      folded,
      question,
      isLast,
      seals: this.#turn.traits.sealsReasoning,
      idFor: (id) => this.#idFor(id, folded),
      answered: (exchange, isMiss) => this.#answered(exchange, isMiss, folded),
    });
    return question.turn;
  }

  amend(plan: Plan): Plan {
    const [folded, question] = [this.#folded, this.#question];
    return folded === undefined || question === undefined
      ? plan
      : amendPlan(plan, folded, question);
  }

  each(event: Event, emit: Emit<Event>): void {
    if (this.#round === undefined) emit(event);
    else this.#round.each(event, emit);
  }

  end(emit: Emit<Event>): void {
    this.#round?.end(emit);
  }

  continues(): boolean {
    const round = this.#round;
    if (round?.continues !== true) return false;
    append(this.#said, round.items());
    this.figures.hiddenRounds++;
    return true;
  }

  #entries(folded: Folded, own: Turn): readonly LogEntry[] {
    const place = own.items.length === 0 ? 0 : itemPlace(own, own.items.length - 1);
    return this.#said.flatMap((one): readonly LogEntry[] =>
      "of" in one
        ? entriesOf(one, folded, place)
        : [{ added: { item: one }, opens: [], by: "model", place }],
    );
  }

  #answered(exchange: HiddenExchange, isMiss: boolean, folded: Folded): HiddenExchange {
    if (isMiss) this.figures.misses++;
    if (exchange.opens.length > 0) this.#countOpening(exchange, folded);
    if (this.#turn.traits.sealsReasoning) return exchange;
    // A client without a place for seals gives back call ids alone: what those cannot carry must follow from them.
    append(this.#uncarried, exchange.opens);
    const [path] = exchange.opens;
    const again = path === undefined ? undefined : readingOf(path, ++this.#readings, folded);
    return again ?? exchange;
  }

  #countOpening({ opens, loaded }: HiddenExchange, { strategy }: Folded): void {
    const { figures } = this;
    figures.openings += opens.length;
    if (strategy !== "restart") {
      figures.dynamic++;
      figures.injected += loaded.length;
    } else if (!this.#restarts) figures.restarts++;
    this.#restarts = strategy === "restart";
  }

  #idFor(id: string, { catalog }: Folded): string {
    if (this.#uncarried.length === 0) return id;
    const carrying = callIdWith(this.#uncarried, catalog, id);
    this.#uncarried = [];
    return carrying ?? id;
  }

  #count({ strategy, tools, catalog, eagerBytes }: Folded, sentBytes: number): void {
    const { figures } = this;
    figures.strategy = strategy;
    figures.tools = tools.size;
    figures.sections = catalog.nodes.length;
    figures.eagerBytes += eagerBytes;
    figures.sentBytes += sentBytes;
  }
}

/** The stage of one turn, or none where no upstream of its chain needs the tools folded. */
export const disclosureStage = (
  turn: Turn,
  profiles: readonly Profile[],
  settings: DisclosureSettings,
): DisclosureStage | undefined =>
  mayFold(turn, profiles, settings) ? new DisclosureStage(turn, settings) : undefined;
