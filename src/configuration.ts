/** How commands load, check, trust and replace configuration files. */

export type { Path } from "./diagnostics/problem.ts";
export { parseConfig, type Config } from "./gateway/config.ts";
export {
  findingLine,
  maskReferences,
  readConfigFile,
  type Finding,
} from "./host/config/config-file.ts";
export {
  keysIn,
  loadConfig,
  notesOf,
  sourceNote,
  trustConfig,
  type LoadedConfig,
} from "./host/config/load.ts";
export {
  isCodexSignedIn,
  keyedProviders,
  keysText,
  localDialect,
  providers,
  sourceText,
  type KeySources,
  type KeyedProvider,
} from "./host/config/providers.ts";
export { reloader, watchFile } from "./host/config/reload.ts";
export { replaceFile } from "./host/platform/careful-files.ts";
export { LONGEST, configNames, type ConfigOrigin } from "./host/config/sources.ts";
export { dropTrust, trustFile } from "./host/config/trust.ts";
