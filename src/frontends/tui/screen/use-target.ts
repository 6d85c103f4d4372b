import { useEffect, useState } from 'react';
import type { Notices } from '../react-hooks.ts';
import type { Pane } from './use-pane.ts';

interface Target {
  session: string;
  keys: readonly string[];
}

/** Returns the function that shows a place of a conversation, as soon as its pane is open. */
export function useTarget(
  pane: Pane | null,
  { attempt }: Notices,
): (session: string, keys: readonly string[]) => void {
  const [target, setTarget] = useState<Target | null>(null);
  useEffect(() => {
    if (pane?.kind !== 'conversation' || pane.id !== target?.session) return;
    setTarget(null);
    attempt(pane.model.reveal(target.keys));
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each target, and not with each drawing
  }, [pane, target]);
  return (session, keys) => setTarget({ session, keys });
}
