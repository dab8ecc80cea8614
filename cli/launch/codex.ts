import { join } from "node:path";
import { type Fields, fieldsIn, fieldsOf, listOf } from "../../src/terminal.ts";
import { openaiResponses } from "../../src/inspection.ts";
import type { LaunchAgent, Keeping, Lasting } from "./agent.ts";

const CATALOG = "models.json";

const providerOf = ({ url, key }: Lasting) => ({
  name: "Patchbay",
  base_url: `${url}/v1`,
  wire_api: "responses",
  ...(key === undefined ? {} : { env_key: "PATCHBAY_API_KEY" }),
});

/** The catalog is kept in the folder of Codex, because Codex does not start if it is missing. */
const KEPT_CATALOG = "patchbay-models.json";

/** For the desktop app and editors, which start without our flags. */
const keeping: Keeping = {
  format: "toml",
  file: ({ home, env }) => join(env["CODEX_HOME"] || join(home, ".codex"), "config.toml"),
  async beside({ models, context }, output) {
    const catalog = catalogWith(await output(["debug", "models", "--bundled"]), models, context);
    return catalog === undefined ? {} : { [KEPT_CATALOG]: catalog };
  },
  entries(to, { [KEPT_CATALOG]: catalog }) {
    const provider = { path: ["model_providers", "patchbay"], value: providerOf(to), owned: true };
    return [
      { path: ["model_provider"], value: "patchbay" },
      { path: ["model"], value: to.model },
      ...(catalog === undefined ? [] : [{ path: ["model_catalog_json"], value: catalog }]),
      provider,
    ];
  },
  note: ({ key }) =>
    key === undefined
      ? undefined
      : "Codex reads the key from PATCHBAY_API_KEY; set this variable where Codex starts.",
};

/**
 * Codex by `-c`, which wins over every file. The id of the provider never changes, because Codex
 * stores its threads with it. A model without an entry in the catalog gets a warning and a guessed
 * window, so our models are added to the catalog of Codex.
 */
export const codexAgent: LaunchAgent = {
  name: "codex",
  title: "Codex CLI",
  commands: ["codex"],
  install: "npm install -g @openai/codex",
  tried: "0.166.0",
  families: openaiResponses.families,
  resume: "patchbay launch codex -- resume",
  keeping,
  async point(to, output) {
    const { key, model, models, context, folder } = to;
    const provider = providerOf(to);
    const catalog = catalogWith(await output(["debug", "models", "--bundled"]), models, context);
    const settings = [
      'model_provider="patchbay"',
      ...Object.entries(provider).map(
        ([field, value]) => `model_providers.patchbay.${field}=${JSON.stringify(value)}`,
      ),
      ...(catalog === undefined
        ? []
        : [`model_catalog_json=${JSON.stringify(join(folder, CATALOG))}`]),
      `model=${JSON.stringify(model)}`,
    ];
    return {
      args: settings.flatMap((setting) => ["-c", setting]),
      env: { PATCHBAY_API_KEY: key },
      files: catalog === undefined ? {} : { [CATALOG]: catalog },
    };
  },
};

/** Codex's catalog with our models in front; undefined if it cannot be read. */
export function catalogWith(
  bundled: string,
  models: readonly string[],
  context: number,
): string | undefined {
  const known = (listOf(fieldsIn(bundled)?.models) ?? []).flatMap((one): Fields[] => {
    const entry = fieldsOf(one);
    return entry === undefined ? [] : [entry];
  });
  // Entries of other modes have tools that only OpenAI's models receive.
  const pattern = known.find((one) => one.use_responses_lite !== true) ?? known[0];
  if (pattern === undefined) return undefined;
  const ours = models.map((model): Fields => ({
    ...pattern,
    slug: model,
    display_name: model,
    description: "through Patchbay",
    context_window: context,
    max_context_window: context,
    use_responses_lite: false,
    tool_mode: "direct",
    upgrade: null,
  }));
  const others = known.filter(({ slug }) => !models.includes(String(slug)));
  return JSON.stringify({ models: [...ours, ...others] });
}
