/** What commands need to print, to read files and the environment, and to find and ask running gateways. */

export { nearest } from "./diagnostics/nearest.ts";
export { writeProblem } from "./diagnostics/write-problem.ts";
export { fieldsIn, fieldsOf, filledText, listOf, numberOf } from "./dialects/shared/loose.ts";
export { environment, isByNpx, type Environment } from "./host/config/env.ts";
export { logLevels, type LogLevel } from "./host/config/log-level.ts";
export {
  homeFolder,
  recordingsFolder,
  runtimeFolders,
  stateFolder,
} from "./host/config/user-folders.ts";
export { askGateway, currentSockets } from "./host/control/client.ts";
export { findGateways, foreignFolders, isAlive, type LocalGateway } from "./host/control/files.ts";
export {
  FileRefusal,
  foreignFolder,
  foreignPlace,
  readBytes,
  readTextFile,
  writeWhole,
} from "./host/platform/careful-files.ts";
export {
  Problems,
  askPerson,
  isTerminal,
  print,
  printError,
  printFault,
  printJson,
  printOver,
  printable,
  refusal,
} from "./host/platform/print.ts";
export { isFields, jsonOf, ownOf } from "./json/json.ts";
export { reasonWords } from "./turn/failure-reason.ts";
export { Fault } from "./turn/fault.ts";
export type { Call, Fields, FunctionTool, Item, ToolChoice } from "./turn/turn.ts";
export { onPath } from "./upstreams/codex/command.ts";
export { isLoopback } from "./upstreams/loopback.ts";
export { version } from "./upstreams/version.ts";
