import { createHash } from 'node:crypto';
import os from 'node:os';
import { readSmallFile } from './foreign-file.ts';

/** Sixteen characters that identify this machine, and tell nothing of it: a digest of its id, or else of its name. */
export function machineId(): string {
  return createHash('sha256').update(`cadre ${systemId()}`).digest('hex').slice(0, 16);
}

function systemId(): string {
  for (const file of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    try {
      const text = readSmallFile(file, { maxBytes: 1024 }).text.trim();
      if (text !== '') return text;
    } catch {
      // The next one may be there.
    }
  }
  return os.hostname();
}
