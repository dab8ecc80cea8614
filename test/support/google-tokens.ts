import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { loopback } from "./loopback.ts";

export const { privateKey, publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});

export type AskedToken = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly form: Readonly<Record<string, string>>;
};

/** An answer of status 200, or one with another status; undefined: the server never answers. */
export type GiveToken = (
  asked: AskedToken,
  at: number,
) => readonly [status: number, body: unknown] | object | string | undefined;

/** Gives tokens that are named by the number of the request. */
export const numbered: GiveToken = (_, at) => ({
  access_token: `token-canary-${at + 1}`,
  expires_in: 3600,
});

/** A server of tokens on loopback, and credentials that name it. */
export async function tokenServer(give: GiveToken = numbered) {
  const asked: AskedToken[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = "";
    for await (const piece of request) text += String(piece);
    const { method = "", url: path = "", headers } = request;
    const one = { method, path, headers, form: Object.fromEntries(new URLSearchParams(text)) };
    asked.push(one);
    const given = give(one, asked.length - 1);
    if (given === undefined) return;
    const [status, body] = Array.isArray(given) ? (given as [number, unknown]) : [200, given];
    response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
  };
  const server = await loopback((request, response) => void answer(request, response));
  onTestFinished(() => server[Symbol.asyncDispose]());
  const folder = mkdtempSync(join(tmpdir(), "patchbay-google-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const token_uri = `${server.url}/token`;
  return {
    asked,
    folder,
    url: server.url,
    host: new URL(server.url).host,
    close: () => server[Symbol.asyncDispose](),
    /** An environment without other credentials. */
    base: { CLOUDSDK_CONFIG: folder },
    write: (content: unknown, name = "key.json"): string => {
      const file = join(folder, name);
      writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
      return file;
    },
    account: {
      type: "service_account",
      client_email: "robot@project.iam.example",
      private_key_id: "key-1",
      private_key: privateKey,
      token_uri,
    },
    login: {
      type: "authorized_user",
      client_id: "client",
      client_secret: "client-canary-secret",
      refresh_token: "refresh-canary-token",
      token_uri,
    },
  };
}
