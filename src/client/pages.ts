import type { Answer } from './client.ts';

/** The pages of a list, from the first to the last, 500 records each. */
export async function* pagesOf<T>(
  ask: (query: { limit: number; cursor?: string | undefined }) => Promise<Answer<T[]>>,
): AsyncGenerator<T[], void> {
  let cursor: string | undefined;
  do {
    const { value, headers } = await ask({ limit: 500, cursor });
    yield value;
    cursor = headers['x-next-cursor'] as string | undefined;
  } while (cursor !== undefined);
}
