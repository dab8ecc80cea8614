/** Tells clients that have left from those that have only ended their side. */

import type { Socket } from "node:net";
import type { Clock } from "../../turn/clock.ts";

/** An answer under way. */
export type OpenAnswer = {
  isOver(): boolean;
  /** Says what changes nothing; false once there is nothing to be said any more. */
  probe(): boolean;
  /** Its client has read nothing for too long, and is about to be cut off. */
  stalled(): void;
};

/** The answers that somebody waits for, by their connections; nearly always one. */
const awaited = new WeakMap<Socket, OpenAnswer | readonly OpenAnswer[]>();

export function trackAnswer(socket: Socket, answer: OpenAnswer): void {
  const before = awaited.get(socket);
  awaited.set(socket, before === undefined ? answer : [before, answer].flat());
}

/** A connection that is kept for the next request keeps nothing of the last one. */
export function untrackAnswer(socket: Socket, answer: OpenAnswer): void {
  const before = awaited.get(socket);
  if (before === answer) awaited.delete(socket);
  else if (Array.isArray(before)) {
    const others = before.filter((one) => one !== answer);
    if (others.length === 0) awaited.delete(socket);
    else awaited.set(socket, others);
  }
}

const openOn = (socket: Socket): readonly OpenAnswer[] =>
  [awaited.get(socket) ?? []].flat().filter((one) => !one.isOver());

/** Tells all answers on a connection that nobody reads it. */
export function tellStalled(socket: Socket): void {
  for (const answer of openOn(socket)) answer.stalled();
}

/** The first of them that is not over: what is asked for meanwhile is answered behind it. */
const currentOn = (socket: Socket): OpenAnswer | undefined => openOn(socket)[0];

/**
 * Follows a connection whose client has closed its side. It may be waiting for
 * its answer all the same, or be gone: only what is sent to it shows that nobody
 * is there, and only the second time. So something is said that changes nothing,
 * at growing intervals, for as long as there is an answer to wait for.
 */
export function askAfter(socket: Socket, clock: Clock): void {
  let pause = FIRST_ASKED_MS;
  let callOff = (): void => {};
  const ask = (): void => {
    if (socket.destroyed || currentOn(socket)?.probe() !== true) return;
    callOff = clock.at(clock.now() + pause, ask);
    pause = Math.min(pause * 2, LAST_ASKED_MS);
  };
  socket.once("close", () => callOff());
  ask();
}

const FIRST_ASKED_MS = 50;
const LAST_ASKED_MS = 15_000;
