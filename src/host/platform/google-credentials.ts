/** Google's application default credentials: short-lived tokens for upstreams without a key. */

import { createPrivateKey, sign } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fieldsOf, filledText } from "../../dialects/shared/loose.ts";
import type { OpenCredentials } from "../../gateway/platform.ts";
import { jsonOf } from "../../json/json.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { safeError } from "../../upstreams/http/fault.ts";
import { proxyFor } from "../../upstreams/http/proxy.ts";
import { receive } from "../../upstreams/http/requests.ts";
import { undiciTransport } from "../../upstreams/http/undici-transport.ts";
import { isLoopback } from "../../upstreams/loopback.ts";
import type { Environment } from "../config/env.ts";
import { homeFolder } from "../config/user-folders.ts";
import { FileRefusal, readTextFile } from "./careful-files.ts";

type Place = { readonly clock: Clock; readonly environment: Environment };

type TokenRequest = {
  readonly url: URL;
  /** Undefined for the metadata server, which is asked by GET. */
  readonly form?: Readonly<Record<string, string>> | undefined;
  /** The account, as messages name it. */
  readonly named: string;
  readonly remedy: string;
  /** The project that pays, if it is not the account's own. */
  readonly project?: string | undefined;
};

type Token = {
  readonly headers: Readonly<Record<string, string>>;
  readonly madeAt: number;
  readonly madeOn: number;
  readonly lifeMs: number;
};

const VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS";
const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const LOGIN = "`gcloud auth application-default login`";
/** The metadata server repeats a token until 5 minutes before its end: an earlier request would bring the same one. */
const EARLY_MS = 225_000;
/** A token with less time left may end before the request arrives. */
const LEAST_MS = 30_000;
const RETRY_MS = 10_000;
const WAIT_MS = 10_000;

/** Opens the credentials that the environment names. Throws a Fault if their file is unusable. */
export const googleCredentials: OpenCredentials = ({ clock, environment = {} }) => {
  // Reports an unusable file at the start. It is read again for each token, because keys change.
  tokenRequest({ clock, environment }, "config.invalid");
  const { [VARIABLE]: file, GOOGLE_CLOUD_QUOTA_PROJECT: project } = environment;
  const known = sourcesOf(clock);
  const id = JSON.stringify([file, project, loginFile(environment), metadataServer(environment)]);
  const source = known.get(id) ?? new TokenSource({ clock, environment });
  known.set(id, source);
  return async ({ isRefused }) => (await source.token(isRefused)).headers;
};

/** The place of the credentials in an environment, for people. */
export const googleCredentialsPlace = (environment: Environment): string =>
  credentialsFile(environment) ??
  `Google's metadata server (${VARIABLE} is not set, and ${loginFile(environment)} does not exist)`;

/** Upstreams with the same credentials share their token. */
const sourcesOf = memoizeByIdentity<Clock, Map<string, TokenSource>>(() => new Map());

/** The token of one account. It is replaced before its end, by one request for all waiting turns. */
class TokenSource {
  readonly #place: Place;
  #token: Token | undefined;
  #pending: Promise<Token> | undefined;
  #retryAt = 0;

  constructor(place: Place) {
    this.#place = place;
  }

  async token(isRefused: boolean): Promise<Token> {
    const { clock } = this.#place;
    const token = this.#token;
    const mayRetry = clock.now() >= this.#retryAt;
    // A token ends early if its login is revoked.
    if (token === undefined || (isRefused && mayRetry)) return this.#renewed();
    // The monotonic clock may stop while the machine sleeps, and the date may be set back.
    const age = Math.max(clock.now() - token.madeAt, clock.date() - token.madeOn);
    const left = token.lifeMs - age;
    if (left <= Math.min(LEAST_MS, token.lifeMs / 4)) return this.#renewed();
    const isLate = left <= Math.min(EARLY_MS, token.lifeMs / 2);
    if (isLate && mayRetry) this.#renewed().catch(() => {}); // The present token is still valid.
    return token;
  }

  #renewed(): Promise<Token> {
    return (this.#pending ??= fetchToken(this.#place)
      .then((token) => (this.#token = token))
      .finally(() => {
        this.#pending = undefined;
        this.#retryAt = this.#place.clock.now() + RETRY_MS;
      }));
  }
}

async function fetchToken(place: Place): Promise<Token> {
  const { clock, environment } = place;
  const asked = tokenRequest(place, "upstream.auth");
  const { url, form, named, remedy, project } = asked;
  const { origin, pathname, search } = url;
  const { assertion = "", refresh_token = "", client_secret = "" } = form ?? {};
  const secrets = [assertion, refresh_token, client_secret].filter((one) => one !== "");
  const failing = { name: "google", origin, secrets };
  const timeouts = { connect: WAIT_MS, queue: WAIT_MS, headers: WAIT_MS, idle: WAIT_MS };
  const proxy = form && proxyFor(url, environment);
  const transport = undiciTransport({ origin, timeouts, connections: 1, proxy, clock });
  const [madeAt, madeOn] = [clock.now(), clock.date()];
  const path = pathname + search;
  const type = "application/x-www-form-urlencoded";
  const body = form && transport.encode(new URLSearchParams(form).toString());
  const reply = await receive(
    { transport, failing, clock },
    body === undefined
      ? { method: "GET", path, headers: ["metadata-flavor", "Google"] }
      : { method: "POST", path, headers: ["content-type", type], body },
    WAIT_MS,
  )
    .response.catch((error: unknown) => {
      throw unanswered(asked, environment, error);
    })
    .finally(() => void transport.close());
  const answer = fieldsOf(jsonOf(reply.body)) ?? {};
  const value = filledText(answer.access_token);
  if (reply.status < 300 && value !== undefined && !/[^!-~]/.test(value)) {
    const headers = { authorization: `Bearer ${value}` };
    return {
      headers: project === undefined ? headers : { ...headers, "x-goog-user-project": project },
      madeAt,
      madeOn,
      lifeMs: 1_000 * (Number(answer.expires_in) || 0),
    };
  }
  const said = safeError(failing, reply.status < 300 ? "" : reply.body).message ?? "no token";
  const word = /^\w{1,40}$/.exec(filledText(answer.error) ?? "")?.[0] ?? said;
  const why = (word === said ? said : `${word}: ${said}`).replace(/\.$/, "");
  const evidence = `${origin} gave no token for ${named} (HTTP ${reply.status}): ${why}.`;
  if (reply.status === 429 || reply.status >= 500)
    throw new Fault("upstream.failed", `${evidence} Try again later.`, { retry: true });
  throw new Fault("upstream.auth", `${evidence} ${remedy}`);
}

/** The fault of a server that sent no answer. */
function unanswered({ url, form, named }: TokenRequest, env: Environment, error: unknown): Fault {
  const why = (error instanceof Fault && error.detail.cause) || "no answer in time";
  if (form !== undefined)
    return new Fault(
      "upstream.unreachable",
      `The token server ${url.origin} cannot be reached for ${named} (${why}). Check the network, and the proxy that the environment names.`,
      { retry: true },
    );
  return new Fault(
    "upstream.auth",
    `No credentials of Google were found: ${VARIABLE} is not set, ${loginFile(env)} does not exist, and no metadata server answers at ${url.origin} (${why}). Set the variable to the key file of a service account, run ${LOGIN}, or set \`api_key\`.`,
  );
}

/** The request for the next token. Throws a Fault with this code if the file is unusable. */
function tokenRequest({ clock, environment }: Place, code: FaultCode): TokenRequest {
  const quota = filledText(environment["GOOGLE_CLOUD_QUOTA_PROJECT"]);
  const file = credentialsFile(environment);
  if (file === undefined) {
    const path = "/computeMetadata/v1/instance/service-accounts/default/token";
    const remedy = "Attach a service account to this machine.";
    const url = URL.parse(path, metadataServer(environment));
    if (url === null)
      throw new Fault(
        code,
        "GCE_METADATA_HOST is not a host; write `host` or `host:port`, or unset it.",
      );
    return { url, named: "the service account of this machine", remedy, project: quota };
  }
  const wrong = (problem: string): Fault =>
    new Fault(code, `The file ${file} with credentials of Google ${problem}`);
  const fields = fieldsOf(jsonOf(textOf(file, wrong)));
  if (fields === undefined) throw wrong(`is not a JSON object. Name another file in ${VARIABLE}.`);
  const given = (name: string): string => {
    const value = filledText(fields[name]);
    if (value !== undefined) return value;
    throw wrong(`has no \`${name}\`. Create the file again.`);
  };
  const project = quota ?? filledText(fields.quota_project_id);
  const address = filledText(fields.token_uri) ?? "https://oauth2.googleapis.com/token";
  const url = URL.parse(address);
  if (url === null || (url.protocol !== "https:" && !isLoopback(url.hostname)))
    throw wrong("has a `token_uri` that is not an https address. Create the file again.");
  if (fields.type === "authorized_user") {
    const form = {
      grant_type: "refresh_token",
      client_id: given("client_id"),
      client_secret: given("client_secret"),
      refresh_token: given("refresh_token"),
    };
    return { url, form, named: `the login in ${file}`, remedy: `Run ${LOGIN} again.`, project };
  }
  if (fields.type !== "service_account") {
    const type = /^\w{1,60}$/.exec(filledText(fields.type) ?? "")?.[0] ?? "unknown";
    throw wrong(
      `has the type \`${type}\`, which is not supported. Use the key file of a service account, run ${LOGIN}, or set \`api_key\`.`,
    );
  }
  const iat = Math.floor(clock.date() / 1_000);
  const email = given("client_email");
  const claims = { iss: email, scope: SCOPE, aud: address, iat, exp: iat + 3_600 };
  const header = { alg: "RS256", typ: "JWT", kid: filledText(fields.private_key_id) };
  const parts = [header, claims].map((part) => base64url(JSON.stringify(part)));
  const signature = signed(parts.join("."), given("private_key"));
  if (signature === undefined)
    throw wrong("has a `private_key` that is not an RSA key in PEM form. Create the key again.");
  return {
    url,
    form: { grant_type: JWT_GRANT, assertion: [...parts, signature].join(".") },
    named: `the service account ${email} in ${file}`,
    remedy: "Create a new key for it, and check the clock of this machine.",
    project,
  };
}

function textOf(file: string, wrong: (problem: string) => Fault): string {
  try {
    return readTextFile(file, { limit: 1_048_576 });
  } catch (error) {
    const { code = "unknown error", message } = error as NodeJS.ErrnoException;
    const reason = error instanceof FileRefusal ? message : `cannot be read (${code})`;
    throw wrong(`${reason}. Correct ${VARIABLE} or the permissions of the file.`);
  }
}

const base64url = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString("base64url");

/** The RS256 signature of a text; undefined if the key is none. */
function signed(text: string, key: string): string | undefined {
  try {
    // Copies by way of variables contain `\n` as two characters.
    const parsed = createPrivateKey(key.replaceAll("\\n", "\n"));
    if (parsed.asymmetricKeyType !== "rsa") return undefined;
    return base64url(sign("sha256", Buffer.from(text), parsed));
  } catch {
    return undefined; // The reason could quote the key.
  }
}

/** The named file, or that of a login by gcloud if it exists. */
function credentialsFile(environment: Environment): string | undefined {
  const login = loginFile(environment);
  return filledText(environment[VARIABLE]) ?? (existsSync(login) ? login : undefined);
}

function loginFile(environment: Environment): string {
  const settings = environment["APPDATA"] ?? join(homeFolder() ?? "/", ".config");
  const folder = filledText(environment["CLOUDSDK_CONFIG"]) ?? join(settings, "gcloud");
  return join(folder, "application_default_credentials.json");
}

function metadataServer(environment: Environment): string {
  const host = filledText(environment["GCE_METADATA_HOST"]) ?? "metadata.google.internal";
  return /^https?:\/\//.test(host) ? host : `http://${host}`;
}
