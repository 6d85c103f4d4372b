import type { Answer } from './client.ts';

/** The records of a list, from the first to the last, read in pages of 500. */
export async function* recordsOf<T>(
  ask: (query: { limit: number; cursor?: string | undefined }) => Promise<Answer<T[]>>,
): AsyncGenerator<T, void> {
  let cursor: string | undefined;
  do {
    const { value, headers } = await ask({ limit: 500, cursor });
    yield* value;
    cursor = headers['x-next-cursor'] as string | undefined;
  } while (cursor !== undefined);
}
