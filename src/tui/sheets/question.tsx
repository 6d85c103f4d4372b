import { Box, Text } from 'ink';
import { type ReactNode, useContext, useState } from 'react';
import type { Approval, Question } from '../../api/approvals.ts';
import { oneLine } from '../../client/telling.ts';
import { plain } from '../../lib/plain.ts';
import { wrapped } from '../../terminal/width.ts';
import type { Decision } from '../acts.ts';
import { Bar } from '../bar.tsx';
import { type Editor, emptyEditor } from '../forms/editor.ts';
import { Field } from '../forms/field.tsx';
import type { Notices } from '../hooks.ts';
import { useKeys } from '../keyboard.ts';
import { Colors } from '../palette.ts';
import { Prompt } from '../prompt.tsx';
import { Tint } from '../tint.tsx';

interface QuestionProps {
  approval: Approval;
  questions: readonly Question[];
  rows: number;
  columns: number;
  notices: Notices;
  decide: (body: Decision) => void;
  onDone: () => void;
}

/** The questions of an agent, one at a time: options to choose, and a text where it may be one. */
export function QuestionSheet(props: QuestionProps): ReactNode {
  const { questions, rows, columns, notices, decide, onDone } = props;
  const palette = useContext(Colors);
  const [at, setAt] = useState(0);
  const [row, setRow] = useState(0);
  const [chosen, setChosen] = useState<Record<string, readonly string[]>>({});
  const [texts, setTexts] = useState<Record<string, Editor>>({});
  const [declines, setDeclines] = useState(false);
  const question = questions[at];
  const options = question?.options ?? [];
  const isFree = question !== undefined && (question.free || options.length === 0);
  const isTyping = isFree && row === options.length;
  const id = question?.id ?? '';
  const labels = chosen[id] ?? [];
  const editor = texts[id] ?? emptyEditor;

  const go = (by: number) => () => {
    setAt(Math.max(0, Math.min(questions.length - 1, at + by)));
    setRow(0);
  };
  const step = (by: number) => () =>
    setRow(Math.max(0, Math.min(options.length - 1 + Number(isFree), row + by)));
  const toggle = (index: number) => {
    const label = options[index]?.label;
    if (label === undefined) return;
    setChosen({ ...chosen, [id]: toggled(labels, label, question?.multiple === true) });
  };
  const next = () => {
    const here = options[row]?.label;
    const taken =
      !isTyping && here !== undefined && (labels.length === 0 || question?.multiple !== true)
        ? [here]
        : labels;
    const now = isTyping ? chosen : { ...chosen, [id]: taken };
    const answers = answersOf(questions, now, texts);
    const missing = question?.required && (answers[id] ?? []).length === 0;
    if (missing) return notices.tell('this question needs an answer');
    setChosen(now);
    if (at < questions.length - 1) return go(1)();
    decide({ decision: 'accept', answers });
  };
  useKeys(
    {
      upArrow: step(-1),
      downArrow: step(1),
      ...(isTyping ? {} : { k: step(-1), j: step(1), ' ': () => toggle(row), return: next }),
      ...(isTyping ? {} : { d: () => setDeclines(true), q: onDone }),
      ...(isTyping ? {} : digits((index) => index < options.length && toggle(index))),
      'shift tab': go(-1),
      tab: go(1),
      escape: onDone,
    },
    !declines,
  );
  if (!question) return null;
  const heading = [
    ...(question.header === null ? [] : [palette.accent(oneLine(question.header))]),
    ...wrapped(plain(question.question), columns),
  ];
  // The rows around the chosen one, where not all have room.
  const room = Math.max(1, rows - heading.length - 3);
  const from = Math.max(0, Math.min(row - Math.floor(room / 2), options.length + 1 - room));
  return (
    <Box flexDirection="column" height={rows}>
      <Box flexDirection="column" height={rows - 1} overflow="hidden">
        {heading.map((line, i) => (
          <Text key={i} bold wrap="truncate-end">
            {line === '' ? ' ' : line}
          </Text>
        ))}
        <Text> </Text>
        {options.map(({ label, description }, i) =>
          i < from || i >= from + room ? null : (
            <Text key={label} wrap="truncate-end" bold={i === row}>
              <Tint tone="name">{i === row ? '▌' : ' '}</Tint>
              {`${labels.includes(label) ? '●' : '○'} ${i + 1} ${oneLine(label)}`}
              <Tint tone="faint">{description === null ? '' : `  ${oneLine(description)}`}</Tint>
            </Text>
          ),
        )}
        {isFree && (
          <Box>
            <Tint tone="name">{isTyping ? '▌' : ' '}</Tint>
            <Field
              editor={editor}
              columns={columns - 2}
              rows={4}
              isActive={isTyping && !declines}
              placeholder={options.length === 0 ? 'your answer' : 'another answer'}
              onChange={(change) =>
                setTexts((all) => ({ ...all, [id]: change(all[id] ?? emptyEditor) }))
              }
              onEnter={next}
            />
          </Box>
        )}
      </Box>
      {declines ? (
        <Prompt
          columns={columns}
          question="decline it? Enter, or why:"
          onCancel={() => setDeclines(false)}
          onAnswer={(text) => decide({ decision: 'decline', reason: text === '' ? null : text })}
        />
      ) : (
        <Bar
          left={
            <Tint tone="asks" wrap="truncate-end">
              {notices.notice === ''
                ? `${at + 1}/${questions.length}  enter ${at < questions.length - 1 ? 'next' : 'answer'}${question.multiple ? '  space choose' : ''}`
                : notices.notice}
            </Tint>
          }
          right={<Tint tone="faint">{isTyping ? 'esc back' : 'd decline  esc back'}</Tint>}
        />
      )}
    </Box>
  );
}

function toggled(labels: readonly string[], label: string, several: boolean): readonly string[] {
  if (labels.includes(label)) return labels.filter((one) => one !== label);
  return several ? [...labels, label] : [label];
}

/** The answers to each question: what was chosen, and what was written. */
function answersOf(
  questions: readonly Question[],
  chosen: Record<string, readonly string[]>,
  texts: Record<string, Editor>,
): Record<string, string[]> {
  return Object.fromEntries(
    questions.flatMap(({ id, multiple }) => {
      const text = (texts[id]?.text ?? '').trim();
      const labels = chosen[id] ?? [];
      const all = text === '' ? [...labels] : multiple ? [...labels, text] : [text];
      return all.length === 0 ? [] : [[id, all]];
    }),
  );
}

function digits(take: (index: number) => void): Record<string, () => void> {
  return Object.fromEntries(
    Array.from({ length: 9 }, (_, index) => [String(index + 1), () => take(index)]),
  );
}
