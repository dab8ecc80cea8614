import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { loadConfig } from "../../src/host/config/load.ts";
import { entriesIn } from "../../src/host/control/files.ts";
import type { Campaign } from "../campaign.ts";
import { changes, mutated } from "../mutate.ts";

const entry = {
  pid: 1,
  group: 1,
  workers: 1,
  url: "http://127.0.0.1:1",
  version: "1",
  startedAt: 1,
};

/** A file, or a pipe, a folder or a link at its path. */
const places = fc.oneof(
  fc.string({ unit: "binary" }).map((text) => ({ type: "file" as const, text })),
  fc
    .array(changes, { maxLength: 3 })
    .map((list) => ({ type: "file" as const, text: JSON.stringify(mutated(entry, list)) ?? "" })),
  fc.constantFrom(
    { type: "pipe" as const },
    { type: "folder" as const },
    { type: "link" as const },
  ),
);
type Place = typeof places extends fc.Arbitrary<infer One> ? One : never;

function put(path: string, place: Place): void {
  if (place.type === "file") writeFileSync(path, place.text);
  else if (place.type === "folder") mkdirSync(path);
  else if (place.type === "link") symlinkSync("/dev/zero", path);
  else spawnSync("mkfifo", [path]);
}

const inFolder = async (
  files: Readonly<Record<string, Place>>,
  look: (folder: string) => unknown,
): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-fuzz-"));
  try {
    for (const [name, place] of Object.entries(files)) put(join(folder, name), place);
    await look(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Any content of a folder of sockets or configurations: readers neither wait for it nor throw. */
export const folders = (): Campaign => ({
  properties: [
    {
      name: "files of private sockets",
      property: fc.asyncProperty(places, places, fc.nat(0xffff), (json, sock, pid) => {
        const name = `${pid}-0123abcd`;
        return inFolder({ [`${name}.json`]: json, [`${name}.sock`]: sock }, async (folder) => {
          if ((await entriesIn(folder)).length > 0) throw new Error("a gateway is found");
        });
      }),
    },
    {
      name: "folders of configurations",
      property: fc.asyncProperty(places, places, (yaml, json) =>
        inFolder({ "patchbay.yaml": yaml, "patchbay.json": json }, (folder) => {
          const env = { XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder };
          loadConfig({ env, directory: folder });
          loadConfig({ env, directory: folder, file: "patchbay.yaml", isAgain: true });
        }),
      ),
    },
  ],
});
