import { Box, Text } from 'ink';
import { type ReactNode, useState } from 'react';
import { emptyEditor, inserted } from '../forms/editor.ts';
import { Field } from '../forms/field.tsx';
import { useEditor } from '../forms/use-editor.ts';
import { Tint } from '../tint.tsx';

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

interface CommandPaletteProps {
  entries: readonly PaletteEntry[];
  rows: number;
  columns: number;
  onLeave: () => void;
}

const LABEL_COLUMNS = 9;

/** Asks for an action or a row by its name, and offers those that match what was typed. */
export function CommandPalette({
  entries,
  rows,
  columns,
  onLeave,
}: CommandPaletteProps): ReactNode {
  const { editor, change, latest } = useEditor(emptyEditor);
  const [wanted, setPlace] = useState(0);
  const found = matches(entries, editor.text);
  const place = Math.max(0, Math.min(wanted, found.length - 1));
  const height = Math.max(1, rows - 2);
  const first = Math.max(0, Math.min(place - Math.floor(height / 2), found.length - height));
  const nameColumns = Math.max(12, Math.min(28, Math.floor(columns * 0.3)));
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      <Box height={1} flexShrink={0}>
        <Tint tone="asks">: </Tint>
        <Field
          editor={editor}
          columns={columns - 2}
          rows={1}
          isActive
          placeholder="action, or title of a row"
          onChange={(next) => {
            change(next);
            setPlace(0);
          }}
          onEnter={() => {
            // The text may be newer than what is drawn.
            const { text } = latest();
            const at = text === editor.text ? place : 0;
            matches(entries, text)[at]?.run();
          }}
          onOther={(_input, key) => {
            if (key.escape) onLeave();
            else if (key.upArrow) setPlace(Math.max(0, place - 1));
            else if (key.downArrow) setPlace(Math.min(place + 1, found.length - 1));
            else if (key.pageUp) setPlace(Math.max(0, place - height + 1));
            else if (key.pageDown) setPlace(Math.min(place + height - 1, found.length - 1));
            else if (key.tab) {
              const chosen = found[place];
              if (!chosen) return;
              change(() => inserted(emptyEditor, chosen.name));
              setPlace(matches(entries, chosen.name).indexOf(chosen));
            }
          }}
        />
      </Box>
      {found.slice(first, first + height).map((entry, i) => (
        <Entry
          key={entry.id}
          entry={entry}
          isChosen={first + i === place}
          nameColumns={nameColumns}
        />
      ))}
      <Box flexGrow={1} />
      <Tint tone={found.length === 0 ? 'asks' : 'faint'} wrap="truncate-end">
        {found.length === 0
          ? `No action and no row matches "${editor.text.trim()}"`
          : '↑ ↓ select  tab complete  ⏎ run  esc back'}
      </Tint>
    </Box>
  );
}

function Entry({
  entry: { label, name, detail },
  isChosen,
  nameColumns,
}: {
  entry: PaletteEntry;
  isChosen: boolean;
  nameColumns: number;
}): ReactNode {
  return (
    <Box height={1} flexShrink={0}>
      <Box width={1 + LABEL_COLUMNS} flexShrink={0}>
        <Tint tone="name" bold={isChosen} wrap="truncate-end">
          {`${isChosen ? '▌' : ' '}${label}`}
        </Tint>
      </Box>
      <Box width={nameColumns} flexShrink={0} marginRight={2}>
        <Text bold={isChosen} wrap="truncate-end">
          {name}
        </Text>
      </Box>
      <Tint tone="faint" wrap="truncate-end">
        {detail}
      </Tint>
    </Box>
  );
}

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
