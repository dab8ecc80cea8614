import { builtinDialects } from "../../src/dialects/registry.ts";
import { parseConfig } from "../../src/gateway/config.ts";
import { planRound } from "../../src/gateway/run/round.ts";
import { callRules } from "../../src/gateway/run/rules.ts";
import { linkOf } from "../../src/gateway/run/select.ts";
import type { Decision } from "../../src/turn/decision.ts";
import type { Fields } from "../../src/turn/turn.ts";
import { modelProfile } from "../../src/profiles/models.ts";
import { profileFor, profiles } from "../../src/profiles/profiles.ts";
import type { Upstream } from "../../src/upstreams/upstream.ts";

type Sent = Fields & { readonly messages: readonly Fields[] };

const rules = callRules(parseConfig({}));

/** What an upstream of a profile would be sent, and what was done to the request for it. `forwards`: unchanged requests may be. */
export function sending(
  name: string,
  asked: Fields,
  model = "m",
  forwards = true,
): { readonly body: Sent; readonly decisions: readonly Decision[]; readonly straight: boolean } {
  const profile =
    profiles.get(name) ??
    builtinDialects.upstreams
      .map((dialect) => profileFor(name, dialect.name))
      .find((found) => found !== undefined);
  if (profile === undefined) throw new Error(`no profile ${name}`);
  const door = builtinDialects.doorFor(asked);
  const input = "messages" in asked || "contents" in asked ? {} : { input: "Hi" };
  const turn = door.readRequest({ model: "m", ...input, ...asked });
  let text = "{}";
  const upstream: Upstream = {
    name: "up",
    emitsFrames: true,
    profile,
    prepare(planned, { straight }) {
      const dialect = builtinDialects.get(profile.dialect)?.upstream;
      if (dialect === undefined) throw new Error(`nobody speaks ${profile.dialect}`);
      const to = {
        profile: modelProfile(profile, model),
        model,
        straight: straight && forwards,
      };
      const written = dialect.writeRequest(planned, to);
      ({ text } = written);
      return { decisions: written.decisions, open: nobody };
    },
    close: () => Promise.resolve(),
  };
  const { decisions, straight } = planRound(turn, linkOf(upstream, model), { rules });
  return { body: JSON.parse(text) as Sent, decisions, straight };
}

export const sent = (name: string, asked: Fields, model?: string): Sent =>
  sending(name, asked, model).body;

function nobody(): never {
  throw new Error("nobody is to be called");
}
