import { z } from 'zod';
import { DERIVED_LIMITS } from '../budget.ts';
import type { KeptFile } from '../provider.ts';

/** Keeps the data of an image, a sound or a file; null where it is too large to be kept. */
type SaveResponse = (bytes: Buffer) => Promise<KeptFile | null>;

/** Of an update with more images and files than these none is kept. */
const MAX_KEPT = 32;

const withContent = z.object({ content: z.unknown() });

/**
 * An update whose blocks hold no data: it is kept elsewhere, and the block says where. The update itself, at once, where
 * it has no such block.
 */
export function withMediaKept(update: unknown, keep: SaveResponse): unknown {
  const { content = null } = withContent.safeParse(update).data ?? {};
  if (!Array.isArray(content))
    return dataOf(content) === null ? update : replaced(update as object, content, keep);
  const isMuch = content.length > DERIVED_LIMITS.entries;
  const count = isMuch ? 0 : content.filter((part) => dataOf(blockOfPart(part)) !== null).length;
  return count === 0 || count > MAX_KEPT ? update : replaced(update as object, content, keep);
}

async function replaced(update: object, content: unknown, keep: SaveResponse): Promise<unknown> {
  if (!Array.isArray(content)) return { ...update, content: await withoutData(content, keep) };
  const parts = await Promise.all(
    content.map(async (part: unknown) => {
      const block = blockOfPart(part);
      if (dataOf(block) === null) return part;
      return { ...(part as object), content: await withoutData(block, keep) };
    }),
  );
  return { ...update, content: parts };
}

/** The block in a part of the content of a tool call. */
function blockOfPart(part: unknown): unknown {
  return withContent.safeParse(part).data?.content;
}

const withData = z.looseObject({ type: z.enum(['image', 'audio']), data: z.string() });
const withBlob = z.looseObject({
  type: z.literal('resource'),
  resource: z.looseObject({ blob: z.string() }),
});

/** The data of a block; null where it has none, and where it is cut. */
function dataOf(block: unknown): string | null {
  const data =
    withData.safeParse(block).data?.data ?? withBlob.safeParse(block).data?.resource.blob ?? null;
  return data?.endsWith(']') ? null : data;
}

async function withoutData(block: unknown, keep: SaveResponse): Promise<unknown> {
  const data = dataOf(block);
  const kept = data === null ? null : await keep(Buffer.from(data, 'base64'));
  if (!kept) return block;
  const media = withData.safeParse(block).data;
  if (media) return { ...media, data: null, kept };
  const embedded = withBlob.parse(block);
  return { ...embedded, resource: { ...embedded.resource, blob: null, kept } };
}
