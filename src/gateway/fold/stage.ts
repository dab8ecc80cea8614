import { noDisclosure, type DisclosureFigures } from "../../observe/happening.ts";
import type { Emit } from "../../stream/stage.ts";
import type { Plan } from "../../tools/plan/plan.ts";
import { append } from "../../turn/append.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import { itemPlace } from "../../turn/path.ts";
import type { Profile } from "../../turn/profile.ts";
import type { HiddenExchange } from "../../turn/seal.ts";
import type { Turn } from "../../turn/turn.ts";
import type { Writable } from "../../turn/writable.ts";
import type { TurnStage } from "../run/turn-stage.ts";
import { RoundAnswer, type RoundOwner } from "./answer.ts";
import { callIdWith } from "./call-id.ts";
import { type Folded, foldTools } from "./fold.ts";
import {
  amendPlan,
  askFolded,
  entriesOf,
  entry,
  type FoldedQuestion,
  readingOf,
  readingsIn,
  restoreLog,
} from "./question.ts";
import type { DisclosureSettings } from "./settings.ts";

type Event = TurnEvent<ClientName>;

/** The state of one round. */
type Round = {
  readonly folded: Folded;
  readonly question: FoldedQuestion;
  readonly answer: RoundAnswer;
};

/**
 * Folds the tools of one turn and answers what the model asks of the fold, in
 * rounds that the client does not see. If an upstream of the chain takes
 * the tools as they are, the stage changes nothing.
 */
export class DisclosureStage implements TurnStage, RoundOwner {
  readonly figures: Writable<DisclosureFigures> = { ...noDisclosure };
  readonly seals: boolean;
  readonly #settings: DisclosureSettings;
  /** The items of the hidden rounds so far, and the calls that were answered in them. */
  readonly #said: ReturnType<RoundAnswer["items"]>[number][] = [];
  /** Openings that no call id carries yet. */
  #uncarried: string[] = [];
  #readings = 0;
  #round: Round | undefined;

  constructor(turn: Turn, settings: DisclosureSettings) {
    this.seals = turn.traits.sealsReasoning;
    this.#settings = settings;
  }

  ask(profile: Profile, own: Turn): Turn {
    const folded = foldTools(own, profile, this.#settings);
    this.#round = undefined;
    if (folded === undefined) return own;
    const { figures } = this;
    const isLast = figures.hiddenRounds >= this.#settings.rounds;
    const place = own.items.length === 0 ? 0 : itemPlace(own, own.items.length - 1);
    const said = this.#said.flatMap((one) =>
      "of" in one ? entriesOf(one, folded, place) : [entry(one, place, "model")],
    );
    const log = [...restoreLog(own, folded), ...said];
    this.#readings = readingsIn(log, folded);
    const question = askFolded(own, folded, log, !isLast);
    figures.strategy = folded.strategy;
    figures.tools = folded.tools.size;
    figures.sections = folded.catalog.nodes.length;
    figures.eagerBytes += folded.eagerBytes;
    figures.sentBytes += question.sentBytes;
    const answer = new RoundAnswer(folded, question, this, isLast);
    this.#round = { folded, question, answer };
    return question.turn;
  }

  amend(plan: Plan): Plan {
    return this.#round === undefined
      ? plan
      : amendPlan(plan, this.#round.folded, this.#round.question);
  }

  each(event: Event, emit: Emit<Event>): void {
    if (this.#round === undefined) emit(event);
    else this.#round.answer.each(event, emit);
  }

  end(emit: Emit<Event>): void {
    this.#round?.answer.end(emit);
  }

  continues(): boolean {
    const answer = this.#round?.answer;
    if (answer?.continues !== true) return false;
    append(this.#said, answer.items());
    this.figures.hiddenRounds++;
    return true;
  }

  answered(exchange: HiddenExchange, isMiss: boolean): HiddenExchange {
    const { figures } = this;
    const { opens, loaded } = exchange;
    if (isMiss) figures.misses++;
    if (opens.length > 0) {
      figures.openings += opens.length;
      figures.dynamic++;
      figures.injected += loaded.length;
    }
    const folded = this.#round?.folded;
    if (this.seals || folded === undefined) return exchange;
    // A client without a place for seals gives back call ids alone: the rest must follow from them.
    append(this.#uncarried, opens);
    const [path] = opens;
    const again = path === undefined ? undefined : readingOf(path, ++this.#readings, folded);
    return again ?? exchange;
  }

  idFor(id: string): string {
    const folded = this.#round?.folded;
    if (this.#uncarried.length === 0 || folded === undefined) return id;
    const carrying = callIdWith(this.#uncarried, folded.catalog, id);
    this.#uncarried = [];
    return carrying ?? id;
  }
}
