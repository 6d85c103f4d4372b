import { imageData } from '../image-data.ts';
import { ProviderError } from '../provider.ts';
import type { StoredInputItem } from '../../api/input.ts';

/** A piece of a prompt, as the protocol has it. Throws ProviderError `unsupported_images` for an agent that takes none. */
export async function contentOf(item: StoredInputItem, takesImages: boolean): Promise<object> {
  if (item.type === 'text') return { type: 'text', text: item.text };
  if (!takesImages)
    throw new ProviderError('unsupported_images', 'acp: this agent does not support images');
  const data = await imageData('acp', item);
  return { type: 'image', data, mimeType: item.media_type };
}
