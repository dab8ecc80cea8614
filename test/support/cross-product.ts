type Dimensions = Readonly<Record<string, readonly unknown[]>>;

/** One combination of a table's dimensions. */
export type RowOf<D extends Dimensions> = { readonly [Key in keyof D]: D[Key][number] };

/** Every combination there is. */
export const crossProduct = <D extends Dimensions>(dimensions: D): RowOf<D>[] =>
  Object.entries(dimensions).reduce<Readonly<Record<string, unknown>>[]>(
    (rows, [key, values]) =>
      rows.flatMap((row) => values.map((value) => Object.assign({}, row, { [key]: value }))),
    [{}],
  ) as RowOf<D>[];
