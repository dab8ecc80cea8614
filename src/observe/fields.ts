/** Fields of an object schema that share one schema. */
export const fields = <Schema, Name extends string>(
  schema: Schema,
  ...names: readonly Name[]
): Readonly<Record<Name, Schema>> =>
  Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>;
