import type { Interface, Key } from 'node:readline';
import type { Recall } from '../../../core/lib/prompt-history.ts';

/** On a line of input, Ctrl-R goes to the newest prompt that contains what is typed, and pressed again to the one before. */
export function searchBack(line: Interface, keys: NodeJS.EventEmitter, begin: () => Recall): void {
  let recall: Recall | undefined;
  const onKey = (_input: string | undefined, key: Key) => {
    if (!key.ctrl || key.name !== 'r') return;
    recall ??= begin();
    const found = recall.search(line.line);
    if (found === null) return;
    for (const name of ['e', 'u']) line.write(null, { ctrl: true, name });
    line.write(found);
  };
  keys.on('keypress', onKey);
  // A prompt that was just sent is found as well.
  line.on('line', () => (recall = undefined));
}
