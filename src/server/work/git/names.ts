/** Returns the path of a name printed by git as bytes, because it need not be UTF-8. */
export function bytePath(files: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${files}/`), Buffer.from(name, 'latin1')]);
}

/** Joins entries, each followed by the NUL that git expects. */
export function nulTerminated(entries: readonly string[]): string {
  return entries.map((entry) => `${entry}\0`).join('');
}

/** Quotes a path that stands on a line of its own, as git reads it. */
export function quoted(name: string): string {
  if (!/^"|[\n\r\\]/.test(name)) return name;
  const escaped = name.replaceAll(
    /["\\\n\r]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return `"${escaped}"`;
}
