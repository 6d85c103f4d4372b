import { z } from 'zod';
import type { KeptFile } from '../provider.ts';

/** Keeps the data of an image, a sound or a file; null where it is too large to be kept. */
type Keep = (bytes: Buffer) => Promise<KeptFile | null>;

const record = z.record(z.string(), z.unknown());

/**
 * An update whose blocks hold no data: it is kept elsewhere, and the block says where. The update itself, at once, where
 * it has no such block.
 */
export function withMediaKept(update: unknown, keep: Keep): unknown {
  const { content } = record.safeParse(update).data ?? {};
  const parts = Array.isArray(content) ? content.map(blockOfPart) : [content];
  if (!parts.some((block) => dataOf(block) !== null)) return update;
  return replaced(update as object, content, keep);
}

async function replaced(update: object, content: unknown, keep: Keep): Promise<unknown> {
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
  return record.safeParse(part).data?.content;
}

const withData = z.looseObject({ type: z.enum(['image', 'audio']), data: z.string() });
const withBlob = z.looseObject({
  type: z.literal('resource'),
  resource: z.looseObject({ blob: z.string() }),
});

function dataOf(block: unknown): string | null {
  return (
    withData.safeParse(block).data?.data ?? withBlob.safeParse(block).data?.resource.blob ?? null
  );
}

async function withoutData(block: unknown, keep: Keep): Promise<unknown> {
  const data = dataOf(block);
  const kept = data === null ? null : await keep(Buffer.from(data, 'base64'));
  if (!kept) return block;
  const media = withData.safeParse(block).data;
  if (media) return { ...media, data: null, kept };
  const embedded = withBlob.parse(block);
  return { ...embedded, resource: { ...embedded.resource, blob: null, kept } };
}
