/** The number of values of one message that are read to measure it. */
const MAX_VALUES = 2000;
/** The size of a message with more values. */
const LARGE_UNITS = 4 * 1024 * 1024;

const sizes = new WeakMap<object, number>();

/**
 * Returns about how many code units a message about a call takes in memory, without reading all of a large one. A record
 * or list that was measured is not read again.
 */
export function keptSize(message: object): number {
  const room = { values: MAX_VALUES };
  const size = measured(message, room);
  return room.values > 0 ? size : Math.max(size, LARGE_UNITS);
}

function measured(value: unknown, room: { values: number }): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  const known = sizes.get(value);
  if (known !== undefined) return known;
  let size = 16;
  const fields = value as Readonly<Record<string | number, unknown>>;
  for (const name of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    if (room.values-- <= 0) return LARGE_UNITS;
    size += (typeof name === 'string' ? name.length : 0) + measured(fields[name], room);
  }
  if (room.values > 0) sizes.set(value, size);
  return size;
}
