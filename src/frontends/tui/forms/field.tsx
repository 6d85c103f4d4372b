import { Box, type Key, Text } from 'ink';
import { type ReactNode, useRef, useState } from 'react';
import { Bar } from '../bar.tsx';
import { useKey, usePasted } from '../keyboard.ts';
import { StyledText } from '../styled-text.tsx';
import {
  type Editor,
  end,
  graphemesOf,
  home,
  inserted,
  left,
  right,
  vertically,
  visibleLines,
  visiblePart,
  withoutBefore,
  withoutLineAfter,
  withoutLineBefore,
  withoutUnder,
  withoutWord,
} from './editor.ts';

export interface FieldProps {
  editor: Editor;
  columns: number;
  /** The most lines that are shown; more scroll with the cursor. A field of one line takes no line breaks. */
  rows: number;
  isActive: boolean;
  placeholder?: string;
  onChange: (change: (editor: Editor) => Editor) => void;
  /** Enter; also at the end of what was typed fast. */
  onEnter: () => void;
  /** A key that the field has no use for, such as up in its first line. */
  onOther?: (input: string, key: Key) => void;
}

interface UsedEditor {
  editor: Editor;
  change: (next: (editor: Editor) => Editor) => void;
  /** The editor after the last change, which may not have been drawn yet. */
  latest: () => Editor;
}

/** An editor that begins as another one was left. */
export function useEditor(initial: Editor): UsedEditor {
  const [editor, setEditor] = useState(initial);
  const last = useRef(editor);
  const change = (next: (editor: Editor) => Editor) => {
    last.current = next(last.current);
    setEditor(last.current);
  };
  return { editor, change, latest: () => last.current };
}

/** A text to write, in one line or several. */
export function Field(props: FieldProps): ReactNode {
  const { editor, columns, rows, isActive, placeholder = '' } = props;
  useKey((input, key) => take(props, input, key), isActive);
  usePasted((text) => props.onChange((before) => inserted(before, fit(text, rows))), isActive);
  const { lines, row } =
    rows === 1 ? { lines: [visiblePart(editor, columns)], row: 0 } : visibleLines(editor, columns);
  const from = Math.max(0, Math.min(row - Math.floor(rows / 2), lines.length - rows));
  if (editor.text === '')
    return (
      <Text wrap="truncate-end">
        {isActive && <Text inverse> </Text>}
        <StyledText tone="faint">{placeholder}</StyledText>
      </Text>
    );
  return (
    <Box flexDirection="column">
      {lines.slice(from, from + rows).map((line, i) => (
        <Text key={line.from} wrap="truncate-end">
          {isActive && from + i === row ? (
            <WithCursor text={line.text} at={editor.cursor - line.from} />
          ) : (
            line.text || ' '
          )}
        </Text>
      ))}
    </Box>
  );
}

interface TextBoxProps extends Omit<FieldProps, 'isActive'> {
  title: ReactNode;
  hint: string;
  height: number;
}

/** A field for a text of several lines below a line with its title and its keys. */
export function TextBox({ title, hint, height, columns, ...field }: TextBoxProps): ReactNode {
  return (
    <Box flexDirection="column" width={columns} height={height + 1} flexShrink={0}>
      <Bar left={title} right={hint} />
      <Box height={height}>
        <StyledText tone="name">{'> '}</StyledText>
        <Field {...field} columns={columns - 2} isActive />
      </Box>
    </Box>
  );
}

function WithCursor({ text, at }: { text: string; at: number }): ReactNode {
  const [under = ' '] = graphemesOf(text.slice(at));
  return (
    <>
      {text.slice(0, at)}
      <Text inverse>{under}</Text>
      {text.slice(at + under.length)}
    </>
  );
}

function take(props: FieldProps, input: string, key: Key): void {
  const { editor, columns, rows, onChange, onEnter, onOther } = props;
  if (isNewline(input, key)) {
    if (rows > 1) onChange((before) => inserted(before, '\n'));
  } else if (key.return) onEnter();
  else if (key.upArrow || key.downArrow) {
    const by = key.upArrow ? -1 : 1;
    if (rows > 1 && vertically(editor, by, columns))
      onChange((before) => vertically(before, by, columns) ?? before);
    else onOther?.(input, key);
  } else {
    const edit = editOf(input, key);
    if (edit) onChange(edit);
    else if (key.ctrl || key.meta || key.escape || key.tab || input === '') onOther?.(input, key);
    else onChange((before) => inserted(before, fit(input, rows)));
  }
}

function fit(text: string, rows: number): string {
  return rows > 1 ? text : text.replaceAll(/[\r\n]+/g, ' ');
}

function isNewline(input: string, key: Key): boolean {
  return input === '\n' || (key.ctrl && input === 'j') || (key.meta && key.return);
}

function editOf(input: string, key: Key): ((editor: Editor) => Editor) | undefined {
  if (key.backspace || key.delete) return key.delete ? withoutUnder : withoutBefore;
  if (key.leftArrow) return left;
  if (key.rightArrow) return right;
  if (key.home) return home;
  if (key.end) return end;
  return key.ctrl ? byControl[input] : undefined;
}

const byControl: Record<string, (editor: Editor) => Editor> = {
  a: home,
  e: end,
  b: left,
  f: right,
  d: withoutUnder,
  h: withoutBefore,
  u: withoutLineBefore,
  k: withoutLineAfter,
  w: withoutWord,
};
