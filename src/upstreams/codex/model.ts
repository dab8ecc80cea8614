const suffixes: Readonly<Record<string, string>> = {
  "-L": "low",
  "-M": "medium",
  "-H": "high",
  "-XH": "xhigh",
  "-low": "low",
  "-medium": "medium",
  "-high": "high",
  "-xhigh": "xhigh",
};

/** A model's name may end in its reasoning effort: `gpt-5.5-H`, `gpt-5.5-high`. */
export function readModel(name: string): {
  readonly model: string;
  readonly effort?: string | undefined;
} {
  const cut = name.lastIndexOf("-");
  const effort = cut > 0 ? suffixes[name.slice(cut)] : undefined;
  return effort === undefined ? { model: name } : { model: name.slice(0, cut), effort };
}
