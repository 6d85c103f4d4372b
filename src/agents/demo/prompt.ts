import type { ContentBlock } from '@agentclientprotocol/sdk/unstable';

/** The parts of a prompt that the agent uses. */
export interface Prompt {
  /** The text blocks, joined by line breaks. */
  readonly text: string;
  readonly images: readonly { readonly mimeType: string; readonly bytes: number }[];
}

/** Extracts text and images from the blocks of a prompt; the agent ignores blocks of other kinds. */
export function readPrompt(blocks: readonly ContentBlock[]): Prompt {
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const images = blocks.flatMap((block) =>
    block.type === 'image'
      ? [{ mimeType: block.mimeType, bytes: Buffer.from(block.data, 'base64').byteLength }]
      : [],
  );
  return { text: texts.join('\n'), images };
}

/** Counts the words of a text. The agent counts each word of a prompt as one token. */
export function countWords(text: string): number {
  return text.split(/\s+/u).filter(Boolean).length;
}
