import { hash } from 'node:crypto';
import path from 'node:path';
import type { Session } from '../../../api/sessions.ts';
import type { Document } from './documents.ts';

/**
 * Marks are words of the index that no text has, because they begin with a character of no script: a filter is then one
 * more word of the query, which costs nothing where it leaves little.
 */
const MARK = '\ue000';

export const kindMark = (kind: Document['kind']) => `${MARK}k${kind}`;
export const providerMark = (provider: string) => `${MARK}p${provider.replaceAll(/\W/g, '')}`;
export const sessionMark = (n: number) => `${MARK}s${n}`;
export const directoryMark = (directory: string) =>
  `${MARK}d${hash('sha256', directory, 'hex').slice(0, 16)}`;

export function marksOf(n: number, { provider, cwd }: Session): string {
  return [
    sessionMark(n),
    providerMark(provider),
    ...directories(cwd).map((one) => directoryMark(one)),
  ].join(' ');
}

function directories(cwd: string): string[] {
  const above = path.dirname(cwd);
  return above === cwd ? [cwd] : [cwd, ...directories(above)];
}
