import type { ContentBlock } from '@agentclientprotocol/sdk/unstable';

/** What the agent reads of a prompt. */
export interface Prompt {
  /** The text blocks, a line break between them. */
  readonly text: string;
  readonly images: readonly { readonly mimeType: string; readonly bytes: number }[];
}

/** Takes text and images out of a prompt's blocks; the agent makes no use of the other kinds. */
export function readPrompt(blocks: readonly ContentBlock[]): Prompt {
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const images = blocks.flatMap((block) =>
    block.type === 'image'
      ? [{ mimeType: block.mimeType, bytes: Buffer.from(block.data, 'base64').byteLength }]
      : [],
  );
  return { text: texts.join('\n'), images };
}

/** How many words a text has. In the agent's bookkeeping, a word of a prompt is a token. */
export function countWords(text: string): number {
  return text.split(/\s+/u).filter(Boolean).length;
}
