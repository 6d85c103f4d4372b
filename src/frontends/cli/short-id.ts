/** The last 8 characters of an id, as tables show it. */
export function shortId(id: string): string {
  return id.slice(-8);
}
