/**
 * Tries new inputs for some time: `npm run fuzz -- requests answers --seconds 60 --seed 7`.
 * Without names all campaigns run, each for that time. A failure is shrunk, printed with the
 * seed and path that reproduce it, and becomes a test.
 */
import { parseArgs } from "node:util";
import * as fc from "fast-check";
import type { Campaign, Property } from "./campaign.ts";
import { answers } from "./campaigns/answers.ts";
import { bundles } from "./campaigns/bundles.ts";
import { codex } from "./campaigns/codex.ts";
import { configurations } from "./campaigns/configurations.ts";
import { folders } from "./campaigns/folders.ts";
import { pieces } from "./campaigns/pieces.ts";
import { requests } from "./campaigns/requests.ts";
import { rows } from "./campaigns/rows.ts";
import { seals } from "./campaigns/seals.ts";

const campaigns = {
  requests,
  answers,
  configurations,
  codex,
  rows,
  seals,
  bundles,
  folders,
  pieces,
};

const { values, positionals } = parseArgs({
  options: {
    seconds: { type: "string", default: "20" },
    seed: { type: "string", default: String(Date.now() % 2_147_483_647) },
    path: { type: "string" },
  },
  allowPositionals: true,
});
const seconds = Number(values.seconds);
const seed = Number(values.seed);
const names = positionals.length > 0 ? positionals : Object.keys(campaigns);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Runs one property until its time is over. Returns the number of inputs; undefined if one failed. */
async function run({ name, property }: Property, until: number): Promise<number | undefined> {
  let tried = 0;
  for (let round = 0; Date.now() < until; round++) {
    const result = await fc.check(property, {
      seed: seed + round,
      numRuns: 1000,
      interruptAfterTimeLimit: Math.max(1, until - Date.now()),
      markInterruptAsFailure: false,
      ...(values.path !== undefined && { path: values.path }),
    });
    tried += result.numRuns;
    if (!result.failed) continue;
    say(`FAILED ${name} with --seed ${result.seed} --path ${result.counterexamplePath ?? ""}`);
    say(JSON.stringify(result.counterexample, undefined, 1).slice(0, 20_000));
    say(result.errorInstance instanceof Error ? (result.errorInstance.stack ?? "") : "");
    return undefined;
  }
  return tried;
}

async function runAll(name: string, { properties, close }: Campaign): Promise<boolean> {
  let isSound = true;
  for (const property of properties) {
    const tried = await run(property, Date.now() + (seconds * 1000) / properties.length);
    if (tried === undefined) isSound = false;
    else say(`${name}: ${property.name}: ${tried} inputs, seed ${seed}`);
  }
  await close?.();
  return isSound;
}

let isSound = true;
for (const name of names) {
  const campaign = Object.entries(campaigns).find(([known]) => known === name)?.[1];
  if (campaign === undefined)
    throw new Error(`${name} is no campaign; there are ${Object.keys(campaigns).join(", ")}`);
  if (!(await runAll(name, campaign()))) isSound = false;
}
process.exitCode = isSound ? 0 : 1;
