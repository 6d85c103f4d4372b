import { z } from 'zod';
import { imageData } from '../image-data.ts';
import { ProviderError } from '../provider.ts';
import type { StoredInputItem } from '../../api/input.ts';
import { maybeText } from '../lenient.ts';

/** Where the data of a block was kept, which is then no longer in the block. */
export const keptAt = z.looseObject({ path: z.string(), bytes: z.int() });

const textBlock = z.looseObject({ type: z.literal('text'), text: z.string() });
const media = z.looseObject({
  type: z.enum(['image', 'audio']),
  mimeType: maybeText,
  uri: maybeText,
  data: maybeText,
  kept: keptAt.optional(),
});
const link = z.looseObject({
  type: z.literal('resource_link'),
  uri: z.string(),
  name: maybeText,
  title: maybeText,
  description: maybeText,
});
const resource = z.looseObject({
  type: z.literal('resource'),
  resource: z.looseObject({
    uri: z.string().catch(''),
    mimeType: maybeText,
    text: maybeText,
    blob: maybeText,
    kept: keptAt.optional(),
  }),
});

const shown = z.union([
  textBlock.transform(({ text }) => text),
  media.transform((one) => `!${mediaLink(one.mimeType ?? one.type, one)}`),
  link.transform(({ uri, name, title, description }) => {
    const more = description ? `: ${description}` : '';
    return markdownLink(title ?? name ?? uri, uri) + more;
  }),
  resource.transform((one) => resourceText(one.resource)),
]);

/**
 * A block of content as Markdown: a text as it is, an image and a sound as the link to where their data is kept, a
 * resource as a link with its text. Null for a block of an unknown type.
 */
export function blockText(block: unknown): string | null {
  return shown.safeParse(block).data ?? null;
}

/** Reports whether a block is a text, which continues the text before it. */
export function isTextBlock(block: unknown): boolean {
  return textBlock.safeParse(block).success;
}

type Media = Pick<z.output<typeof media>, 'uri' | 'data' | 'kept'>;

function mediaLink(what: string, { uri, data, kept }: Media): string {
  if (kept) return markdownLink(`${what}, ${kept.bytes} bytes`, kept.path);
  // The size of cut data is unknown.
  const size = data?.endsWith(']') ? '' : `, ${Buffer.byteLength(data ?? '', 'base64')} bytes`;
  const bytes = data ? `${size}, not kept` : '';
  return uri ? markdownLink(what + bytes, uri) : `[${what}${bytes}]`;
}

function resourceText(embedded: z.output<typeof resource>['resource']): string {
  const { uri, mimeType, text, blob, kept } = embedded;
  if (text === null)
    return mediaLink([uri, mimeType].filter(Boolean).join(', '), { uri, data: blob, kept });
  let ticks = 2;
  for (const [found] of text.matchAll(/`{3,}/g)) ticks = Math.max(ticks, found.length);
  const fence = '`'.repeat(ticks + 1);
  return `${markdownLink(uri, uri)}\n\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
}

function markdownLink(words: string, uri: string): string {
  const address = /[\s()<>]/.test(uri)
    ? `<${uri.replaceAll(/[<>\r\n]/g, encodeURIComponent)}>`
    : uri;
  return `[${words.replaceAll(/[[\]\\]/g, String.raw`\$&`)}](${address})`;
}

/** A piece of a prompt, as the protocol has it. Throws ProviderError `unsupported_images` for an agent that takes none. */
export async function contentOf(item: StoredInputItem, takesImages: boolean): Promise<object> {
  if (item.type === 'text') return { type: 'text', text: item.text };
  if (!takesImages)
    throw new ProviderError('unsupported_images', 'acp: this agent does not support images');
  const data = await imageData('acp', item);
  return { type: 'image', data, mimeType: item.media_type };
}
