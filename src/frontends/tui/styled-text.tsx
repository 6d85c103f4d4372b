import { Text, type TextProps } from 'ink';
import { createContext, type ReactNode, useContext } from 'react';
import type { ColorRole } from '../../core/lib/screen-settings.ts';
import { colorless, type Palette } from '../terminal/palette.ts';

/** The colours of the terminal that the screen is on. */
export const Colors = createContext<Palette>(colorless);

/** The meaning of a colour. The words say the same, for terminals without colours. */
export type Tone = 'plain' | 'faint' | 'name' | 'good' | 'bad' | 'asks';

const roles = {
  plain: null,
  faint: 'faint',
  name: 'accent',
  good: 'good',
  bad: 'bad',
  asks: 'warn',
} as const satisfies Record<Tone, ColorRole | null>;

/** A text in the colour of its tone. Its lines are cut where they are too long, unless `wrap` says otherwise. */
export function StyledText({
  tone,
  ...rest
}: TextProps & { tone: Tone; children?: ReactNode }): ReactNode {
  const role = roles[tone];
  const { colors } = useContext(Colors);
  const color = role === null ? undefined : colors[role];
  const isDim = tone === 'faint' && color === undefined;
  return (
    <Text
      wrap="truncate-end"
      dimColor={isDim}
      {...(color === undefined ? {} : { color })}
      {...rest}
    />
  );
}
