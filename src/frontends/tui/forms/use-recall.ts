import type { Key } from 'ink';
import { useRef } from 'react';
import { type PromptHistory, Recall } from '../../../core/lib/prompt-history.ts';
import type { Editor } from './editor.ts';

/**
 * Puts earlier prompts into an editor: up and down go through them, and Ctrl-R goes to those that contain what is written.
 * Returns the handler of these keys, which answers whether a key was one of them.
 */
export function useRecall(
  history: PromptHistory | null,
  latest: () => Editor,
  change: (next: (editor: Editor) => Editor) => void,
): (input: string, key: Key) => boolean {
  const known = useRef<{ recall: Recall; added: number }>(undefined);
  return (input, key) => {
    const isSearch = key.ctrl && input === 'r';
    if (!history || !(isSearch || key.upArrow || key.downArrow)) return false;
    // Read with the first of these keys, and again after a prompt was sent.
    const { added } = history;
    if (known.current?.added !== added)
      known.current = { recall: new Recall(history.read()), added };
    const { recall } = known.current;
    const { text } = latest();
    const found = isSearch
      ? recall.search(text)
      : key.upArrow
        ? recall.older(text)
        : recall.newer(text);
    // With the cursor in its first line, the next prompt is one key away.
    if (found !== null)
      change(() => ({ text: found, cursor: key.upArrow ? firstLine(found) : found.length }));
    return true;
  };
}

function firstLine(text: string): number {
  const end = text.indexOf('\n');
  return end < 0 ? text.length : end;
}
