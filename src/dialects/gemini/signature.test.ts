import { describe, expect, it } from "vitest";
import { DUMMY, isDummy, sealedSignature, sealLine, sealsIn } from "./signature.ts";

const seal = 'patchbay:1:{"from":"up/model","encrypted":"ÿ>?~"}';
const url = (text: string): string => text.replaceAll("+", "-").replaceAll("/", "_");

describe("a signature with seals", () => {
  it("tells where the reasoning of each seal belongs", () => {
    const lines = [sealLine(seal, "before"), sealLine(seal, "behind"), sealLine(seal, "part")];
    for (const first of lines) {
      const signature = sealedSignature([first, ...lines]);
      const places = ["before", "behind", "part"];
      expect(sealsIn(signature)?.slice(1)).toEqual(places.map((place) => ({ text: seal, place })));
    }
  });

  it("is read in both alphabets, with padding and without", () => {
    const signature = sealedSignature([seal]);
    for (const form of [signature, url(signature), signature.replace(/=+$/, "")])
      expect(sealsIn(form)).toEqual([{ text: seal, place: "before" }]);
  });

  it("keeps a signature of the model beside its seals", () => {
    expect(sealsIn(sealedSignature([seal, sealLine("EpID=", "behind")]))?.[1]).toEqual({
      text: "EpID=",
      place: "behind",
    });
  });

  it.each(["", "EpIDCg==", DUMMY, "not base64 at all!", btoa("patchbay:2:{}"), btoa("+patchbay")])(
    "is not seen in %j",
    (signature) => expect(sealsIn(signature)).toBeUndefined(),
  );
});

it("knows the dummies as text and in both alphabets of base64", () => {
  for (const dummy of [DUMMY, "context_engineering_is_the_way_to_go"])
    for (const form of [dummy, btoa(dummy), url(btoa(dummy)), btoa(dummy).replace(/=+$/, "")])
      expect(isDummy(form)).toBe(true);
  expect(isDummy("EpIDCg==")).toBe(false);
});
