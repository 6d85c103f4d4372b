import { z } from 'zod';
import type { Model } from '../../api/providers.ts';

export interface CodexModel extends Model {
  /** The effort of a turn that wishes for none. */
  defaultEffort: string | null;
}

/** At most so many pages of a list are read. */
const MAX_PAGES = 100;

const model = z.looseObject({
  model: z.string(),
  displayName: z.string().optional().catch(undefined),
  hidden: z.boolean().catch(false),
  supportedReasoningEfforts: z.array(z.looseObject({ reasoningEffort: z.string() })).catch([]),
  defaultReasoningEffort: z.string().nullish().catch(null),
});

/** The models that codex offers, without those that it hides. */
export async function listModels(ask: Ask): Promise<CodexModel[]> {
  const found = await listAll(ask, 'model/list', {});
  return found.flatMap((one): CodexModel[] => {
    const { data } = model.safeParse(one);
    if (!data || data.hidden) return [];
    return [
      {
        id: data.model,
        display_name: data.displayName ?? data.model,
        reasoning_levels: data.supportedReasoningEfforts.map((level) => level.reasoningEffort),
        defaultEffort: data.defaultReasoningEffort ?? null,
      },
    ];
  });
}

/** Returns the efforts of a model, or the efforts of all models if the model is not in the list. */
export function levelsOf(id: string | null, models: readonly CodexModel[]): string[] {
  const known = models.filter((one) => one.id === id);
  const levels = (known.length > 0 ? known : models).flatMap((one) => one.reasoning_levels);
  return [...new Set(levels)];
}

export type Ask = (method: string, params: object) => Promise<unknown>;

const page = z.looseObject({
  data: z.array(z.unknown()).catch([]),
  nextCursor: z.string().nullish().catch(null),
});

/** All entries that a method lists, page by page. */
export async function listAll(ask: Ask, method: string, params: object): Promise<unknown[]> {
  const found: unknown[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const { data }: { data?: z.output<typeof page> } = page.safeParse(
      await ask(method, { ...params, ...(cursor === null ? {} : { cursor }) }),
    );
    found.push(...(data?.data ?? []));
    cursor = data?.nextCursor ?? null;
    if (cursor === null) break;
  }
  return found;
}
