import type { Happening } from "../happening.ts";

/** Something that happened to the gateway and not to one turn alone. */
export type Notice = { readonly at: number; readonly happening: Happening };

const MOST = 200;

/** The latest notices, numbered from 1. */
export class Notices {
  readonly #date: () => number;
  readonly #kept: Notice[] = [];
  #last = 0;

  constructor(date: () => number) {
    this.#date = date;
  }

  get last(): number {
    return this.#last;
  }

  readonly hear = (happening: Happening): void => {
    if (!isNotice(happening)) return;
    this.#last++;
    this.#kept.push({ at: this.#date(), happening });
    if (this.#kept.length > MOST) this.#kept.shift();
  };

  /** Those behind the one of this number. */
  since(number: number): readonly Notice[] {
    const first = this.#last - this.#kept.length + 1;
    return this.#kept.slice(Math.max(0, number + 1 - first));
  }
}

function isNotice({ type }: Happening): boolean {
  switch (type) {
    case "begun":
    case "turn":
    case "round":
    case "refusal":
    case "step":
    case "attempt":
    case "call":
      return false;
    case "fallback":
    case "blocked":
    case "child":
    case "reload":
    case "store":
    case "trouble":
    case "unwritable":
      return true;
    default:
      return type satisfies never;
  }
}
