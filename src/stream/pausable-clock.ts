import type { Clock } from "../turn/clock.ts";

type Alarm = { readonly moment: number; readonly ring: () => void; callOff: () => void };

/**
 * A clock that stands still while nobody can say anything. Where a slow client
 * holds an upstream up, that it is silent is not its doing, and no rule that
 * waits for silence may take it for that. What a moment that was waited for
 * throws is handed to `crashed`: it must end one turn, not the process.
 */
export class PausableClock implements Clock {
  readonly #clock: Clock;
  readonly #crashed: (error: unknown) => void;
  /** How long it stood still in all, and since when it does. */
  #lost = 0;
  #since: number | undefined;
  /** Few turns ever wait for a moment. */
  #alarms: Set<Alarm> | undefined;

  constructor(clock: Clock, crashed: (error: unknown) => void) {
    this.#clock = clock;
    this.#crashed = crashed;
  }

  now(): number {
    return (this.#since ?? this.#clock.now()) - this.#lost;
  }

  date(): number {
    return this.#clock.date();
  }

  at(moment: number, then: () => void): () => void {
    const alarms = (this.#alarms ??= new Set());
    const alarm: Alarm = { moment, ring: then, callOff() {} };
    alarms.add(alarm);
    if (this.#since === undefined) this.#set(alarm, alarms);
    return () => {
      alarms.delete(alarm);
      alarm.callOff();
    };
  }

  pause(): void {
    if (this.#since !== undefined) return;
    this.#since = this.#clock.now();
    for (const alarm of this.#alarms ?? none) alarm.callOff();
  }

  resume(): void {
    if (this.#since === undefined) return;
    this.#lost += this.#clock.now() - this.#since;
    this.#since = undefined;
    for (const alarm of this.#alarms ?? none) this.#set(alarm, this.#alarms);
  }

  #set(alarm: Alarm, alarms: Set<Alarm> | undefined): void {
    alarm.callOff = this.#clock.at(alarm.moment + this.#lost, () => {
      alarms?.delete(alarm);
      try {
        alarm.ring();
      } catch (error) {
        this.#crashed(error);
      }
    });
  }
}

const none: readonly Alarm[] = [];
