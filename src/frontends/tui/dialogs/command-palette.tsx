import { Box } from 'ink';
import type { ReactNode } from 'react';
import { padded } from '../../terminal/width.ts';
import { emptyEditor, inserted } from '../forms/editor.ts';
import { Field, useEditor } from '../forms/field.tsx';
import { useKeys } from '../keyboard.ts';
import type { DialogProps } from '../screen/screen-context.ts';
import { StyledText } from '../styled-text.tsx';
import { ChoiceLine, Frame, useChoice } from './dialog.tsx';

/** An action to run, or a row to go to. */
export interface PaletteEntry {
  id: string;
  /** The key of an action, or the kind of a row. */
  label: string;
  /** The name, which is typed to select the entry. */
  name: string;
  detail: string;
  run: () => void;
}

/** Asks for an action or a row by its name, and offers those that match what was typed. */
export function CommandPalette(
  props: DialogProps & { entries: readonly PaletteEntry[] },
): ReactNode {
  const { entries, rows, columns, onLeave } = props;
  const { editor, change, latest } = useEditor(emptyEditor);
  const found = matches(entries, editor.text);
  const height = Math.max(1, rows - 2);
  const { at, first, to, arrows } = useChoice(found.length, height);
  const nameColumns = Math.max(12, Math.min(28, Math.floor(columns * 0.3)));
  const complete = () => {
    const chosen = found[at];
    if (!chosen) return;
    change(() => inserted(emptyEditor, chosen.name));
    to(matches(entries, chosen.name).indexOf(chosen));
  };
  useKeys({ ...arrows, tab: complete, escape: onLeave });
  const none = (
    <StyledText tone="asks">{`No action and no row matches "${editor.text.trim()}"`}</StyledText>
  );
  return (
    <Frame
      rows={rows}
      footer={found.length === 0 ? none : '↑ ↓ select  tab complete  ⏎ run  esc back'}
    >
      <Box height={1} flexShrink={0}>
        <StyledText tone="asks">: </StyledText>
        <Field
          editor={editor}
          columns={columns - 2}
          rows={1}
          isActive
          placeholder="action, or title of a row"
          onChange={(next) => {
            change(next);
            to(0);
          }}
          onEnter={() => {
            // The text may be newer than what is drawn.
            const { text } = latest();
            matches(entries, text)[text === editor.text ? at : 0]?.run();
          }}
        />
      </Box>
      {found.slice(first, first + height).map(({ id, label, name, detail }, i) => (
        <ChoiceLine key={id} isChosen={first + i === at} detail={`  ${detail}`}>
          <StyledText tone="name">{padded(label, LABEL_COLUMNS)}</StyledText>
          {padded(name, nameColumns)}
        </ChoiceLine>
      ))}
    </Frame>
  );
}

const LABEL_COLUMNS = 9;

/** The entries that contain every word of a text: those whose name begins with the text first, then by their names. */
function matches(entries: readonly PaletteEntry[], text: string): PaletteEntry[] {
  const wanted = text.trim().toLowerCase();
  const words = wanted.split(/\s+/);
  const rankOf = ({ label, name, detail }: PaletteEntry): number => {
    const own = name.toLowerCase();
    if (own === wanted || label === text.trim()) return 0;
    if (own.startsWith(wanted)) return 1;
    if (words.every((word) => own.includes(word))) return 2;
    const all = `${label} ${name} ${detail}`.toLowerCase();
    return words.every((word) => all.includes(word)) ? 3 : 4;
  };
  return entries
    .map((entry) => ({ entry, rank: rankOf(entry) }))
    .filter(({ rank }) => rank < 4)
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ entry }) => entry);
}
