import fs from 'node:fs/promises';
import path from 'node:path';
import { MAX_LINKS, partsOf } from './files.ts';
import { type Mount, nearest } from './plan.ts';

/**
 * Resolves with the file of this machine that a path names in a sandbox, without links; null if the sandbox does not show it.
 * Links lead where they lead inside: otherwise a program inside could make the server read any file.
 */
export async function fileOutside(
  mounts: ReadonlyMap<string, Mount>,
  named: string,
): Promise<string | null> {
  let at = '/';
  let links = 0;
  const names = partsOf(path.resolve(named));
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const next = path.join(at, name);
    const source = sourceOf(mounts, next);
    const target = source === null ? null : await fs.readlink(source).catch(() => null);
    if (target === null) {
      at = next;
      continue;
    }
    if (++links > MAX_LINKS) return null;
    names.unshift(...partsOf(path.resolve(at, target)));
    at = '/';
  }
  return sourceOf(mounts, at);
}

function sourceOf(mounts: ReadonlyMap<string, Mount>, file: string): string | null {
  const mount = nearest(mounts, file);
  if (!mount || mount.kind === 'hidden') return null;
  return path.join(mount.source, path.relative(mount.at, file));
}
