import { Text, type TextProps } from 'ink';
import { type ReactNode, useContext } from 'react';
import { Colors } from './palette.ts';

/** The meaning of a colour. The words say the same, for terminals without colours. */
export type Tone = 'plain' | 'faint' | 'name' | 'good' | 'bad' | 'asks';

const colors: Partial<Record<Tone, string>> = {
  name: 'cyan',
  good: 'green',
  bad: 'red',
  asks: 'yellow',
};

/** A text in the colour of its tone. */
export function Tint({
  tone,
  ...rest
}: TextProps & { tone: Tone; children?: ReactNode }): ReactNode {
  const color = useContext(Colors).on ? colors[tone] : undefined;
  return <Text dimColor={tone === 'faint'} {...(color === undefined ? {} : { color })} {...rest} />;
}
