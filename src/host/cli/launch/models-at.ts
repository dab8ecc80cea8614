import { fieldsIn, fieldsOf, filledText, listOf } from "../../../dialects/shared/loose.ts";
import { Fault } from "../../../turn/fault.ts";

/** The models that a gateway lists; a Fault says why it does not. */
export async function modelsAt(url: string, key: string): Promise<readonly string[]> {
  let response: Response;
  try {
    const headers = { authorization: `Bearer ${key}` };
    const signal = AbortSignal.timeout(10_000);
    response = await fetch(`${url}/v1/models`, { headers, signal });
  } catch (error) {
    throw new Fault(
      "upstream.unreachable",
      `Nobody answers at ${url}; start it with \`patchbay serve\`, or leave \`--url\` out.`,
      {},
      error,
    );
  }
  const body = fieldsIn(await response.text());
  if (response.ok)
    return (listOf(body?.data) ?? []).flatMap((one) => filledText(fieldsOf(one)?.id) ?? []);
  const why = filledText(fieldsOf(body?.error)?.message) ?? `it answers ${response.status}`;
  throw new Fault("request.invalid", `${url} does not list its models: ${why}`);
}
