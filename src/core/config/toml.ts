import { parse, TomlError } from 'smol-toml';
import { invalidError } from '../../api/errors.ts';
import type { Tree } from './keys.ts';

/** Parses TOML. Throws `invalid` with the name of the file and the line. */
export function parseToml(text: string, file: string): Tree {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Only the first line, because the further lines quote the file, which may hold secrets.
    throw invalidError(`${file}:${error.line}: ${error.message.split('\n')[0]}`);
  }
}
