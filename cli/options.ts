import type { LogLevel } from "../src/terminal.ts";

/** The options of all commands, as `cli.ts` reads them; each command has some of them. */
export type Options = {
  /** Prints JSON for programs in place of text. */
  readonly json?: boolean;
  readonly config?: string;
  /** A gateway: one of several that run, or one elsewhere. */
  readonly url?: string;
  /** The key of a gateway elsewhere. */
  readonly key?: string | undefined;
  readonly model?: string;
  /** In seconds. */
  readonly timeout?: number;

  /** `init` */
  readonly yes?: boolean;
  readonly force?: boolean;

  /** `serve` */
  readonly host?: string;
  readonly port?: number;
  readonly withParent?: boolean;
  /** The number of processes that share the port. */
  readonly workers?: number;
  readonly logLevel?: LogLevel;

  /** `trust` */
  readonly remove?: boolean;

  /** `doctor`; true stands for the first model. */
  readonly probe?: string | true;
  readonly fix?: boolean;

  /** `plan` and `launch` */
  readonly strict?: boolean;

  /** `smoke` */
  readonly expect?: number;
  readonly atMost?: number;
  /** An option of the older proxy's script. */
  readonly allowSingle?: boolean;

  /** `launch` */
  readonly small?: string;
  readonly context?: number;
  readonly keep?: boolean;
  readonly restore?: boolean;
  /** Records the turns of a gateway of the launch's own: all of them, or those that fail. */
  readonly record?: true | "failures";

  /** `logs` */
  readonly follow?: boolean;
  readonly turn?: string;
  readonly last?: number;

  /** `record`; in milliseconds. */
  readonly for?: number;
  readonly failures?: boolean;

  /** `bundle` and `replay` */
  readonly preview?: boolean;
  readonly check?: boolean;
  readonly paced?: boolean;
  readonly against?: string;
  readonly anyway?: boolean;
};

/** Options of which some have defaults. */
export type With<Name extends keyof Options> = Options & Required<Pick<Options, Name>>;
