import { createHash } from "node:crypto";
import type { Body } from "../fake-upstream.ts";
import type { StrictModel } from "./models.ts";
import { blocksOf, listOf, refuse } from "./refuse.ts";

const digest = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("base64");

/** What a thought is bound to: instructions, tools and everything said before it. Deferred tools stand where they are loaded. */
const prefixOf = ({ system, tools }: Body, before: readonly unknown[]): string => {
  const eager = listOf(tools).filter(({ defer_loading }) => defer_loading !== true);
  return digest([system ?? null, eager, before]);
};

type Issued = { readonly model: string; readonly prefix: string; readonly text: string };

/** The thoughts that this account's models have signed. */
export class Signatures {
  readonly #issued = new Map<string, Issued>();

  /** Signs a thought that answers a request, behind what the answer said before it. */
  sign(request: Body, said: readonly Body[], text: string): string {
    const { messages, model } = request;
    const prefix = prefixOf(request, [...blocksBefore(listOf(messages)), ...said.map(bare)]);
    const issued: Issued = { model: String(model), prefix, text };
    const signature = `sig+${digest([issued, this.#issued.size])}`;
    this.#issued.set(signature, issued);
    return signature;
  }

  check(request: Body, model: StrictModel): void {
    const before: unknown[] = [];
    for (const [at, { role, content }] of listOf(request["messages"]).entries())
      for (const [index, block] of blocksOf(content).entries()) {
        const path = `messages.${at}.content.${index}`;
        const { type } = block;
        if (type === "thinking" || type === "redacted_thinking")
          this.#checkThought(block, path, prefixOf(request, before), { request, model });
        before.push(role === "assistant" ? bare(block) : [role, block]);
      }
  }

  #checkThought(
    block: Body,
    path: string,
    prefix: string,
    { request, model }: { readonly request: Body; readonly model: StrictModel },
  ): void {
    const key = block["type"] === "thinking" ? "signature" : "data";
    const signature = block[key] as string | undefined;
    if (signature === undefined) return refuse(`${path}.thinking.${key}: Field required`);
    const issued = this.#issued.get(signature);
    if (issued === undefined) return refuse(`${path}: Invalid \`signature\` in \`thinking\` block`);
    if (issued.model !== request["model"])
      refuse(`${path}: Invalid \`signature\` in \`thinking\` block`);
    if (key === "signature" && issued.text !== block["thinking"])
      refuse(
        `${path}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified`,
      );
    if (model.binds && issued.prefix !== prefix)
      refuse(`${path}: \`thinking\` blocks are bound to what stood before them, which has changed`);
  }
}

const blocksBefore = (messages: readonly Body[]): unknown[] =>
  messages.flatMap(({ role, content }) =>
    blocksOf(content).map((block) => (role === "assistant" ? bare(block) : [role, block])),
  );

/** A block of the model's without what it was sent with. */
const bare = (block: Body): Body => ({ ...block, cache_control: undefined });
