import type { Catalog } from "../../agent/catalog.ts";
import type { LoaderNames } from "../../agent/loader.ts";
import type { Strategy } from "../../agent/strategy.ts";
import type { ToolVerdict } from "../../tools/plan/plan.ts";
import type { ToolChoice, FunctionTool, Tool } from "../../turn/turn.ts";

/** A client's function that stands behind the loader. */
export type FoldedTool = {
  /** What the catalogue calls it, in every strategy. */
  readonly name: string;
  /** Who it is to the client. */
  readonly client: Pick<FunctionTool, "name"> & { readonly namespace?: string | undefined };
  readonly tool: FunctionTool;
  /** Where the client finds it in its request. */
  readonly path: string;
  /** The key of its section. */
  readonly section: string;
};

/** A client's tools as one upstream is shown them: some by themselves, the others behind a loader. */
export type Folded = {
  readonly strategy: Exclude<Strategy, "eager">;
  readonly catalog: Catalog;
  readonly names: LoaderNames;
  /** By the catalogue's names. */
  readonly tools: ReadonlyMap<string, FoldedTool>;
  /** By who they are to the client (`identityKey`). */
  readonly byIdentity: ReadonlyMap<string, FoldedTool>;
  /** By other names that a model may call them; null: two could be meant. */
  readonly aliases: ReadonlyMap<string, FoldedTool | null>;
  /** Tools that the request declares and does not allow, by who they are: neither listed nor callable. */
  readonly forbidden: ReadonlySet<string>;
  /** The declarations that stay. */
  readonly direct: readonly Tool[];
  /** Where the client finds what stands in `direct`, by the path that a plan of it gives. */
  readonly paths: ReadonlyMap<string, string>;
  /** Folded tools that are declared by themselves all the same, since the request forces them. */
  readonly forced: ReadonlySet<string>;
  readonly choice: ToolChoice | undefined;
  /** Items of the conversation whose tools were taken out; they hold nothing else. */
  readonly emptied: ReadonlySet<number>;
  /** Results of searches whose tools were taken out. */
  readonly searches: ReadonlySet<number>;
  /** The tools that are not offered by themselves. */
  readonly deferred: readonly ToolVerdict[];
  /** How many tools may be declared at once. */
  readonly max: number;
  /** How long the description of a tool may be. */
  readonly maxDescription: number;
  /** What all the tools would come to, each declared. */
  readonly eagerBytes: number;
};
