import { Text, type TextProps } from 'ink';
import { createContext, type ReactNode, useContext } from 'react';

/** What a colour says; a terminal without colours has the words. */
export type Tone = 'plain' | 'faint' | 'name' | 'good' | 'bad' | 'asks';

const colors: Partial<Record<Tone, string>> = {
  name: 'cyan',
  good: 'green',
  bad: 'red',
  asks: 'yellow',
};

/** Whether colours are wanted: not where NO_COLOR is set. */
export const HasColor = createContext(true);

/** A text in the colour of what it says. */
export function Tint({
  tone,
  ...rest
}: TextProps & { tone: Tone; children?: ReactNode }): ReactNode {
  const color = useContext(HasColor) ? colors[tone] : undefined;
  return <Text dimColor={tone === 'faint'} {...(color === undefined ? {} : { color })} {...rest} />;
}
