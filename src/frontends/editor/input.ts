import { fileURLToPath } from 'node:url';
import type { ContentBlock } from '@agentclientprotocol/sdk/unstable';
import { invalidError } from '../../api/errors.ts';
import type { InputItem } from '../../api/input.ts';

/**
 * A prompt of an editor as the input of a turn. A link becomes a link within the text around it, an embedded file its
 * text below its path; an embedded image stays an image. Throws `invalid` for what no agent takes.
 */
export function inputOf(blocks: readonly ContentBlock[]): InputItem[] {
  const parts = blocks.map(partOf).reduce<Part[]>(joined, []);
  if (parts.length === 0) throw invalidError('the prompt is empty: enter a text');
  return parts.map(({ item }) => item);
}

/** An item of the input. `isLink`: what stands before and after it belongs to the same text. */
interface Part {
  item: InputItem;
  isLink: boolean;
}

function joined(before: Part[], next: Part): Part[] {
  const last = before.at(-1);
  const isOne = last && (last.isLink || next.isLink);
  if (!isOne || last.item.type !== 'text' || next.item.type !== 'text') return [...before, next];
  const item = { type: 'text' as const, text: last.item.text + next.item.text };
  return [...before.slice(0, -1), { item, isLink: next.isLink }];
}

function partOf(block: ContentBlock): Part {
  if (block.type === 'resource_link') {
    const text = `[${block.title ?? block.name}](${sourceOf(block.uri)})`;
    return { item: { type: 'text', text }, isLink: true };
  }
  return { item: itemOf(block), isLink: false };
}

function itemOf(block: Exclude<ContentBlock, { type: 'resource_link' }>): InputItem {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
      return { type: 'image', data: block.data };
    case 'resource':
      return embedded(block.resource);
    default:
      throw invalidError(
        `unsupported content type "${block.type}" in the prompt: remove this content`,
      );
  }
}

type Resource = Extract<ContentBlock, { type: 'resource' }>['resource'];

function embedded(resource: Resource): InputItem {
  const source = sourceOf(resource.uri);
  if ('text' in resource) {
    const text = `<context source=${JSON.stringify(source)}>\n${resource.text}\n</context>`;
    return { type: 'text', text };
  }
  if (resource.mimeType?.startsWith('image/')) return { type: 'image', data: resource.blob };
  throw invalidError(
    `cannot embed "${source}" in the prompt, because the content is neither text nor an image: link the file instead`,
  );
}

/** The path of a file on this machine, with the lines that are meant; else the whole address. */
function sourceOf(uri: string): string {
  try {
    const { hash } = new URL(uri);
    return `${fileURLToPath(hash === '' ? uri : uri.slice(0, -hash.length))}${hash}`;
  } catch {
    return uri;
  }
}
