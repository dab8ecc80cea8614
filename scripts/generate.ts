import { faultsPage } from "./reference/faults.ts";
import { commandLinePage } from "./reference/command-line.ts";
import { configurationPage } from "./reference/configuration.ts";
import { headersPage } from "./reference/headers.ts";
import { httpApiPage } from "./reference/http-api.ts";
import { logLinesPage } from "./reference/log-lines.ts";
import { metricsPage } from "./reference/metrics.ts";
import { profilesPage, supportMatrix } from "./reference/profiles.ts";

/** The README with its table of tools made again. */
const readme = (now: string): string =>
  now.replace(
    /(<!-- matrix -->\n)[\s\S]*(<!-- \/matrix -->)/,
    (_, open: string, close: string) => `${open}\n${supportMatrix()}\n\n${close}`,
  );

/** The pages made from code, by path from the root; each receives its present text. */
export const pages: Readonly<Record<string, (now: string) => string>> = {
  "docs/reference/command-line.md": commandLinePage,
  "docs/reference/configuration.md": configurationPage,
  "docs/reference/faults.md": faultsPage,
  "docs/reference/headers.md": headersPage,
  "docs/reference/http-api.md": httpApiPage,
  "docs/reference/log-lines.md": logLinesPage,
  "docs/reference/metrics.md": metricsPage,
  "docs/reference/profiles.md": profilesPage,
  "README.md": readme,
};
