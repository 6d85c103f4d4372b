import { Text } from 'ink';
import type { ReactNode } from 'react';
import { useKey } from '../keyboard.ts';
import { Tint } from '../tint.tsx';
import type { ScreenState } from './screen-state.ts';

/** Asks what is to be copied to the clipboard of the terminal. */
export function CopyMenu({ shown, onDone }: { shown: ScreenState; onDone: () => void }): ReactNode {
  const { place, tell } = shown;
  const offers = shown.copyable();
  useKey((input) => {
    const offer = offers[Number(input) - 1];
    onDone();
    if (!offer) return;
    const isSent = place.terminal.copy(offer.text);
    tell(
      isSent
        ? `Copied: ${offer.name}`
        : `cannot copy ${offer.name}: too long for the clipboard of the terminal`,
    );
  });
  return (
    <Text wrap="truncate-end">
      <Tint tone="asks">Copy: </Tint>
      {offers.map(({ name }, i) => `${i + 1} ${name}`).join('  ')}
      <Tint tone="faint">{'  other keys: cancel'}</Tint>
    </Text>
  );
}
