import { z } from 'zod';
import type { Model } from '../../api/providers.ts';
import { excessOf } from '../json-connection.ts';
import { arrayOf, fieldOf, maybeText } from '../lenient.ts';
import { TOO_LONG } from './connection.ts';

export interface CodexModel extends Model {
  /** The effort of a turn that requests none. */
  defaultEffort: string | null;
}

const models = arrayOf(
  z.looseObject({
    model: z.string(),
    displayName: maybeText,
    hidden: z.boolean().catch(false),
    supportedReasoningEfforts: z.array(z.looseObject({ reasoningEffort: z.string() })).catch([]),
    defaultReasoningEffort: maybeText,
  }),
);

/** The models that codex offers, without those that it hides. */
export async function listModels(ask: Ask): Promise<CodexModel[]> {
  const found = models.parse(await listAll(ask, 'model/list', {}));
  return found
    .filter(({ hidden }) => !hidden)
    .map((one) => ({
      id: one.model,
      display_name: one.displayName ?? one.model,
      reasoning_levels: one.supportedReasoningEfforts.map((level) => level.reasoningEffort),
      defaultEffort: one.defaultReasoningEffort,
    }));
}

export type Ask = (method: string, params: object) => Promise<unknown>;

export async function listAll(ask: Ask, method: string, params: object): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const one of entriesOf(ask, method, params)) found.push(one);
  return found;
}

/** So many pages of a list are read. A page that is too long to be read is read entry by entry. */
const MAX_PAGES = 1000;

/** The entries that a method lists, page by page. */
export async function* entriesOf(
  ask: Ask,
  method: string,
  params: { limit?: number },
): AsyncGenerator<unknown, undefined> {
  let cursor: unknown = null;
  let { limit } = params;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const query = { ...params, limit, ...(cursor === null ? {} : { cursor }) };
    const answer = await ask(method, query).catch((error: unknown) => {
      if (limit === 1 || !isTooLong(error)) throw error;
      return null;
    });
    // Entries are missing at the end of such a page.
    if (limit !== 1 && (answer === null || excessOf(answer))) {
      limit = 1;
      continue;
    }
    const data = fieldOf(answer, 'data');
    if (Array.isArray(data)) yield* data;
    cursor = fieldOf(answer, 'nextCursor') ?? null;
    if (cursor === null) return;
  }
}

function isTooLong(error: unknown): boolean {
  const { cause, message } = error as Error;
  return [message, (cause as Error | undefined)?.message].some((text) => text?.includes(TOO_LONG));
}
