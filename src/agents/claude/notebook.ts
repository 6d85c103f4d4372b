import { z } from 'zod';

const notebook = z.looseObject({
  cells: z.array(
    z.looseObject({
      id: z.string().nullish().catch(null),
      source: z.union([z.string(), z.array(z.string()).transform((lines) => lines.join(''))]),
    }),
  ),
});

/**
 * The source of a cell of a notebook, by its id or, where cells have none, by its place as in `cell-3`. Without an id it
 * is empty. Null where there is no such cell.
 */
export function cellSource(
  content: string | null,
  cellId: string | null | undefined,
): string | null {
  if (cellId === null || cellId === undefined) return '';
  const cells = cellsOf(content);
  const place = /^cell-(\d+)$/.exec(cellId)?.[1];
  const cell =
    cells.find(({ id }) => id === cellId) ??
    (place === undefined ? undefined : cells[Number(place)]);
  return cell?.source ?? null;
}

function cellsOf(content: string | null): z.output<typeof notebook>['cells'] {
  try {
    return notebook.parse(JSON.parse(content ?? '')).cells;
  } catch {
    return [];
  }
}
