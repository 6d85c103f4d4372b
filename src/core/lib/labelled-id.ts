/** An id as people see it: behind its name, where that is another text. */
export function labelledId(id: string, name: string): string {
  return name === id ? `"${id}"` : `"${name}" (${id})`;
}
