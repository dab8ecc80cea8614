import { delta, stop } from "../support/chat-frames.ts";
import type { Body } from "../support/fake-upstream.ts";
import { DONE, written, type Quirk, type Sent } from "./quirk.ts";

const content = "Grüße 👋🏽";
const frames: readonly (Body | string)[] = [
  delta({ role: "assistant", content: "" }),
  delta({ content: content.slice(0, 3) }),
  delta({ content: content.slice(3) }),
  stop,
  DONE,
];
const plain = written(frames).join("");
const sees = { text: content };
const wire = (...stream: readonly Sent[]): Quirk["wire"] => ({ stream });
const pretty = (frame: Body | string): string =>
  typeof frame === "object"
    ? `${JSON.stringify(frame, null, 1).replaceAll(/^/gm, "data: ")}\n\n`
    : frame;
const bytes = new TextEncoder().encode(plain);

/** How an event stream may be written, whatever it says. */
export const framing = [
  {
    quirk: "comments between frames and within them",
    providers: "OpenRouter, proxies that keep a line open",
    wire: wire(": PROCESSING\n\n", plain.replaceAll("data: {", ": still here\ndata: {")),
    sees,
  },
  {
    quirk: "lines that end in CRLF",
    providers: "IIS",
    wire: wire(plain.replaceAll("\n", "\r\n")),
    sees,
  },
  {
    quirk: "lines that end in CR",
    providers: "the standard",
    wire: wire(plain.replaceAll("\n", "\r")),
    sees,
  },
  { quirk: "a byte order mark", providers: "servers in .NET", wire: wire(`\uFEFF${plain}`), sees },
  {
    quirk: "data over several lines",
    providers: "servers that print JSON prettily",
    wire: wire(...frames.map(pretty)),
    sees,
  },
  {
    quirk: "no space behind `data:`",
    providers: "DashScope, Spring",
    wire: wire(plain.replaceAll("data: ", "data:")),
    sees,
  },
  {
    quirk: "ids, retry times and names of events beside the data",
    providers: "DashScope, Cloudflare",
    wire: wire(plain.replaceAll("data: {", "id: 1\nevent: result\nretry: 10\ndata: {")),
    sees,
  },
  {
    quirk: "bytes of one character in two packets",
    providers: "every network",
    wire: wire(...Array.from(bytes, (_, at) => bytes.slice(at, at + 1))),
    sees,
  },
  { quirk: "all frames in one packet", providers: "proxies that gather", wire: wire(plain), sees },
  {
    quirk: "a last frame without the empty line behind it",
    providers: "servers that close early",
    wire: wire(plain.trimEnd()),
    sees,
  },
] as const satisfies readonly Quirk[];
