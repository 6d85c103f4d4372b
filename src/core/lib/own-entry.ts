/**
 * The entry of a table under a key that others choose. Undefined if the table has none, also for the names that every
 * object has: `table.constructor` would be a function.
 */
export function ownEntry<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
