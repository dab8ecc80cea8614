/**
 * A list as PostgreSQL writes arrays. Passed as text and cast in the statement,
 * a batch is one statement with a fixed number of parameters, whatever its size.
 */
export const arrayText = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values.map(elementText).join(",")}}`;

const elementText = (value: string | number | boolean | null): string =>
  typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : String(value);
