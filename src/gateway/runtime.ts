import type { CodexOptions } from "../upstreams/codex/codex.ts";
import type { Connect } from "../upstreams/http/transport.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import type { StoreOptions } from "../history/database-store.ts";
import type { DatabaseConfig } from "../history/open-database.ts";
import type { Store } from "../history/store.ts";
import type { Decompressors } from "./http/body.ts";

/** What Node, Bun, Deno and workers each do in their own way. */
export type Runtime = {
  /** 32 bytes. At once: a key is checked before its request is taken in. */
  readonly sha256: (text: string) => Uint8Array;
  /** The `content-encoding`s of request bodies that can be undone. */
  readonly decompressors: Decompressors;
  /** How large its heap may become, where that can be known. */
  readonly heapBytes?: number | undefined;
  /** Opens the way to an HTTP upstream. */
  readonly connect: Connect;
  /** Runs Codex; not given where no process can be started. */
  readonly codex?: ((options: CodexOptions) => Upstream) | undefined;
  /** Opens a store in a database; not given where there are neither files nor sockets. */
  readonly openStore?: ((config: DatabaseConfig, options: StoreOptions) => Store) | undefined;
};
