/**
 * Deltas are found by their session or process, and settled items by the events that closed them. An index is one more
 * page that each piece of text writes, and a table of settled items is one more row of each item.
 */
export const migration036 = `
DROP INDEX IF EXISTS deltas_kind;
DROP INDEX IF EXISTS deltas_item;
DROP TABLE IF EXISTS settled_items;
`;
