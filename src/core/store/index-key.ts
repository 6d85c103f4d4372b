/** The key of an index. */
export interface IndexKey {
  name: string;
  /** Columns, or expressions. */
  columns: string[];
  /** The condition of a partial index; null if the index has all rows. */
  condition: string | null;
}

/** Reads the key of an index from the statement that created it. */
export function indexKey(name: string, sql: string): IndexKey {
  const begin = sql.indexOf('(') + 1;
  const columns: string[] = [];
  let start = begin;
  let depth = 1;
  let at = begin;
  for (let isText = false; depth > 0 && at < sql.length; at++) {
    const char = sql[at];
    if (char === "'") isText = !isText;
    if (isText) continue;
    if (char === '(') depth++;
    if (char === ')') depth--;
    if (depth > 1 || (char !== ',' && depth > 0)) continue;
    columns.push(sql.slice(start, at).trim());
    start = at + 1;
  }
  const [, condition = null] = /^\s*WHERE\s+([\s\S]+)$/i.exec(sql.slice(at)) ?? [];
  return { name, columns, condition };
}
