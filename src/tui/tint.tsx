import { Text, type TextProps } from 'ink';
import { createContext, type ReactNode, useContext } from 'react';

/** The meaning of a colour. The words say the same, for terminals without colours. */
export type Tone = 'plain' | 'faint' | 'name' | 'good' | 'bad' | 'asks';

const colors: Partial<Record<Tone, string>> = {
  name: 'cyan',
  good: 'green',
  bad: 'red',
  asks: 'yellow',
};

/** Whether colours are used; false where NO_COLOR is set. */
export const HasColor = createContext(true);

/** A text in the colour of its tone. */
export function Tint({
  tone,
  ...rest
}: TextProps & { tone: Tone; children?: ReactNode }): ReactNode {
  const color = useContext(HasColor) ? colors[tone] : undefined;
  return <Text dimColor={tone === 'faint'} {...(color === undefined ? {} : { color })} {...rest} />;
}
