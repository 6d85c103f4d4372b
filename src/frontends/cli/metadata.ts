import { usageError } from '../../api/errors.ts';

/** The value of `--metadata`. Throws `usage` where it is not JSON. */
export function parseMetadata(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usageError(`invalid --metadata: expected valid JSON (${(error as Error).message})`);
  }
}
