import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The targets of the links and pictures of a page, without those that are addresses. */
export const linksIn = (text: string): readonly string[] =>
  [...text.replaceAll(/^ *```[\s\S]*?^ *```/gm, "").matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

/** The anchor of a heading, as Markdown renderers make it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .trim()
    .replaceAll(" ", "-");

/** The links of a page that lead to no file, or to no heading of one. */
export function missingTargets(root: string, page: string): readonly string[] {
  return linksIn(readFileSync(join(root, page), "utf8")).flatMap((link) => {
    const [path = "", anchor] = link.split("#");
    const file = path === "" ? page : join(dirname(page), path);
    if (!existsSync(join(root, file))) return [`${page}: ${link}`];
    if (anchor === undefined || !file.endsWith(".md")) return [];
    const headings = [...readFileSync(join(root, file), "utf8").matchAll(/^#+ (.*)$/gm)];
    const anchors = headings.map(([, heading = ""]) => anchorOf(heading));
    return anchors.includes(anchor) ? [] : [`${page}: ${link}`];
  });
}
