import { expect, it } from "vitest";
import { screenText, type ScreenLine } from "./table.ts";

const ESC = "\u001B";
const lines: ScreenLine[] = ["plain", { text: "a wrong\u001B[2J turn", tone: "wrong" }, "third"];
const extent = { columns: 12, height: 2 };

it("writes tones as colours around what is cut to the width", () => {
  expect(screenText(lines, { ...extent, hasColours: true })).toBe(
    `${ESC}[Hplain${ESC}[K\r\n${ESC}[31ma wrong\\u001${ESC}[0m${ESC}[K${ESC}[J`,
  );
});

it("writes no colour where there is none", () => {
  expect(screenText(lines, { ...extent, hasColours: false })).toBe(
    `${ESC}[Hplain${ESC}[K\r\na wrong\\u001${ESC}[K${ESC}[J`,
  );
});
