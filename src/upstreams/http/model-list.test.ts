import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readModels } from "./requests.ts";
import { version } from "../version.ts";

it.each([
  ['{"object":"list","data":[{"id":"a","object":"model"},{"id":"b"}]}', ["a", "b"]],
  ['{"models":[{"slug":"a"},{"id":"b"},{"name":"c"},{}]}', ["a", "b", "c"]],
  ['{"data":["a","a"]}', ["a"]],
  ['[{"id":"a"}]', ["a"]],
  ['{"data":null,"models":[{"name":"a"}]}', ["a"]],
  ['{"data":[{"id":7,"name":"a"}]}', ["a"]],
  ["{}", []],
  ["null", []],
  ["<html>", []],
])("reads the models in %s", (text, names) => {
  expect(readModels(text)).toEqual(names);
});

it("tells upstreams the version of the package", () => {
  const manifest = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  expect(version).toBe((JSON.parse(manifest) as { version: string }).version);
});
