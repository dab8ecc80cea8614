/** The pages, and the fenced blocks in them. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const read = (page: string): string => readFileSync(join(root, page), "utf8");
export const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];

export type Block = {
  readonly page: string;
  readonly at: number;
  readonly language: string;
  readonly text: string;
};

/** The fenced blocks of a page. */
export const blocksIn = (page: string): readonly Block[] =>
  [...read(page).matchAll(/^ {0,3}```(\w*)\n([\s\S]*?)^ {0,3}```$/gm)].map(
    ([, language = "", text = ""], at) => ({ page, at, language, text }),
  );
export const blocks = pages.flatMap(blocksIn);
export const inLanguage = (...languages: readonly string[]): readonly Block[] =>
  blocks.filter(({ language }) => languages.includes(language));

/** Declarations of names that the text around a block explains. */
const given: Readonly<Record<string, string>> = {
  archive: "declare const archive: { search(query: string, options: object): Promise<string> };",
  ban: 'declare const ban: import("patchbay/agent").Tool;',
  api_key: "declare const api_key: string;",
  app: 'declare const app: import("fastify").FastifyInstance & { mount(path: string, fetch: unknown): void };',
  gateway: 'declare const gateway: import("patchbay").Gateway;',
  session: 'declare const session: import("patchbay/agent").Session;',
  librarian: 'declare const librarian: import("patchbay/agent").Agent<any, any>;',
  params: "declare const params: any;",
  setVisibilityOverride: 'import { setVisibilityOverride } from "patchbay/agent";',
  readSection: 'import { readSection } from "patchbay/agent";',
  createGateway: 'import { createGateway } from "patchbay";',
  OpenAI: 'import OpenAI from "openai";',
  Anthropic: 'import Anthropic from "@anthropic-ai/sdk";',
  GoogleGenAI: 'import { GoogleGenAI } from "@google/genai";',
  messages: "declare const messages: any[];",
  tools: "declare const tools: any[];",
};

/** A block as a module, with the names that it uses and does not define. */
export function moduleOf(text: string): string {
  const defined = (name: string): boolean =>
    new RegExp(
      `(?:const|using|function|class) (?:\\{[^}]*)?\\b${name}\\b|import [^;]*\\b${name}\\b`,
    ).test(text);
  const used = Object.entries(given).filter(
    ([name]) => new RegExp(`(?<![.\\w"'])${name}\\b(?!:)`).test(text) && !defined(name),
  );
  // A page may show one `export default` for each of several servers.
  return `${used.map(([, line]) => line).join("\n")}\n${text}\nexport {};\n`;
}
