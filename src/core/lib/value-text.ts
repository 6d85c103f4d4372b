/**
 * A foreign value for a message: a text as it is, any other value as JSON. `String` would call a `toString` that may be a
 * field of the value.
 */
export function valueText(value: unknown): string {
  if (value === undefined) return 'undefined';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
