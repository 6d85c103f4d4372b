import path from 'node:path';
import { invalidError } from '../../api/errors.ts';
import { makeDirectory } from '../lib/make-directory.ts';
import { readSmallFile } from '../lib/foreign-file.ts';
import { newSecret } from '../lib/ids.ts';
import { createFile } from '../lib/replace-file.ts';
import type { Config } from './schema.ts';

export type ConfigWithToken = Config & { auth: { token: string } };

/** The configuration with its token, and with the token's file where it is from one. Creates a missing file. */
export function withToken(config: Config, directory: string): ConfigWithToken {
  const file = tokenFileOf(config, directory);
  const token = config.auth.token ?? loadOrCreateToken(file ?? '');
  return { ...config, auth: { token, token_file: file } };
}

/** The file of a server's token; null where the configuration itself holds the token. */
export function tokenFileOf({ auth }: Config, directory: string): string | null {
  if (auth.token !== null) return null;
  return path.resolve(auth.token_file ?? path.join(directory, 'auth', 'token'));
}

/** The API token in the token file, which is created if it is missing. */
export function loadOrCreateToken(tokenFile: string): string {
  const token = newSecret();
  makeDirectory(path.dirname(tokenFile));
  const isNew = createFile(tokenFile, `${token}\n`, { flush: true });
  return isNew ? token : readToken(tokenFile);
}

const MAX_TOKEN_BYTES = 64 * 1024;

/** The token in a file. Throws `invalid` for a file that other users may read or own, and for one without a token. */
export function readToken(tokenFile: string): string {
  const { text, stat } = readSmallFile(tokenFile, { maxBytes: MAX_TOKEN_BYTES });
  const { mode, uid } = stat;
  if ((mode & 0o077) !== 0) {
    throw invalidError(
      `the token file ${tokenFile} is readable for other users: run chmod 600 on the file, or delete the file to get a new token`,
    );
  }
  if (process.getuid && uid !== process.getuid()) {
    throw invalidError(`the token file ${tokenFile} belongs to another user`);
  }
  const token = text.trim();
  if (token.length >= 16) return token;
  throw invalidError(
    `the token file ${tokenFile} contains no token of at least 16 characters: delete the file to get a new token`,
  );
}
