/** Whether the agents on PATH are sent to a gateway that is not there. */

import { connect } from "node:net";
import { onPath } from "../../src/upstreams/codex/command.ts";
import { agents } from "../launch/agents.ts";
import { addressesOf, type AgentPlace, type NamedAddress } from "./agent-settings.ts";
import type { Check } from "../../src/observe/console/wire-checks.ts";

/** One check for each address that an agent is sent to, or one that says that there is none. */
export async function agentChecks(place: AgentPlace): Promise<readonly Check[]> {
  const path = place.env["PATH"] ?? place.env["Path"] ?? "";
  const there = agents.filter(({ commands }) =>
    commands.some((command) => onPath(command, path) !== undefined),
  );
  const checks = await Promise.all(
    there.map(async (agent): Promise<Check[]> => {
      const { name, title } = agent;
      const addresses = addressesOf(agent, place);
      const subject = title;
      if (addresses.length === 0) {
        const evidence = "is on PATH, and its settings name no address of this machine";
        const remedy = `To have it ask this gateway: patchbay launch ${name}`;
        const outcome = "note";
        return [{ group: "agents", id: "agent.address", subject, outcome, evidence, remedy }];
      }
      return Promise.all(addresses.map((address) => addressCheck(subject, address)));
    }),
  );
  return checks.flat();
}

type Who = "somebody" | "nobody" | "silence";

const found: Readonly<Record<Who, Pick<Check, "outcome" | "evidence">>> = {
  somebody: { outcome: "ok", evidence: "where somebody listens" },
  nobody: { outcome: "wrong", evidence: "where nothing listens" },
  silence: { outcome: "unknown", evidence: "which neither answers nor refuses" },
};

async function addressCheck(subject: string, address: NamedAddress): Promise<Check> {
  const { place, origin, undo } = address;
  const { outcome, evidence } = found[await whoAnswers(new URL(origin))];
  const undoing = undo === undefined ? `take the address out of ${place}.` : `undo it: ${undo}`;
  return {
    group: "agents",
    id: "agent.address",
    subject,
    outcome,
    evidence: `${place} sends it to ${origin}, ${evidence}`,
    remedy: outcome === "ok" ? undefined : `Start the gateway there, or ${undoing}`,
  };
}

/** On loopback an answer is there at once. */
const PATIENCE_MS = 500;

function whoAnswers({ hostname, port, protocol }: URL): Promise<Who> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, "");
    const socket = connect({ host, port: Number(port) || (protocol === "https:" ? 443 : 80) });
    const settle = (who: Who): void => {
      socket.destroy();
      resolve(who);
    };
    socket.setTimeout(PATIENCE_MS, () => settle("silence"));
    socket.once("connect", () => settle("somebody"));
    socket.once("error", () => settle("nobody"));
  });
}
