import { createHmac } from 'node:crypto';
import fs from 'node:fs';
import { readSmallFile } from '../../core/lib/foreign-file.ts';

const MAX_SECRET_BYTES = 64 * 1024;
const MIN_SECRET_BYTES = 16;
const PREFIX = 'whsec_';

/**
 * Returns the key in a file: what is in it, or what follows `whsec_` in base64. Throws for a file that others may read
 * or that belongs to another user, and for a key of less than 16 bytes.
 */
export function readSecret(file: string): Buffer {
  if (!fs.existsSync(file)) throw new Error(`the secret file ${file} does not exist`);
  const { text, stat } = readSmallFile(file, { maxBytes: MAX_SECRET_BYTES });
  if ((stat.mode & 0o077) !== 0)
    throw new Error(
      `the secret file ${file} is readable for other users: run chmod 600 on the file`,
    );
  if (process.getuid && stat.uid !== process.getuid())
    throw new Error(`the secret file ${file} belongs to another user`);
  const encoded = text.trim();
  const key = encoded.startsWith(PREFIX)
    ? Buffer.from(encoded.slice(PREFIX.length), 'base64')
    : Buffer.from(encoded);
  if (key.length >= MIN_SECRET_BYTES) return key;
  throw new Error(
    `the secret file ${file} contains no secret of at least ${MIN_SECRET_BYTES} bytes`,
  );
}

/**
 * Returns the headers that sign a body, as Standard Webhooks has it: HMAC with SHA-256 of `ID.TIMESTAMP.BODY`. `now` is
 * in Unix ms.
 */
export function signatureHeaders(
  key: Buffer,
  { id, now, body }: { id: string; now: number; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const seal = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${seal}`,
  };
}
