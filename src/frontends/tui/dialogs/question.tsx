import { Box } from 'ink';
import { type ReactNode, useContext, useState } from 'react';
import type { Question } from '../../../api/approvals.ts';
import { oneLine } from '../../../client/event-summary.ts';
import { ownEntry } from '../../../core/lib/own-entry.ts';
import { plain } from '../../../core/lib/plain.ts';
import { wrapped } from '../../terminal/width.ts';
import type { Decision } from '../user-actions.ts';
import { Bar } from '../bar.tsx';
import { Field, type FieldProps } from '../forms/field.tsx';
import { type KeyTable, useKeys } from '../keyboard.ts';
import { Prompt } from '../prompt.tsx';
import type { DialogProps } from '../screen/screen-context.ts';
import { Colors, StyledText } from '../styled-text.tsx';
import { ChoiceLine, Frame, Lines } from './dialog.tsx';
import { type Editor, emptyEditor } from '../forms/editor.ts';

interface QuestionProps extends DialogProps {
  questions: readonly Question[];
  decide: (body: Decision) => void;
}

/** The questions of an agent, one at a time: options to choose, and a text where it may be one. */
export function QuestionDialog(props: QuestionProps): ReactNode {
  const { questions, rows, columns, notices, decide, onLeave } = props;
  const [state, setState] = useState<Answering>({
    questions,
    at: 0,
    row: 0,
    chosen: {},
    texts: {},
  });
  const [declines, setDeclines] = useState(false);
  const { question, isTyping } = currentQuestion(state);
  const next = () => {
    const after = taken(state);
    const answers = answersOf(after);
    if (question?.required && !Object.hasOwn(answers, question.id))
      return notices.showNotice('an answer is required');
    setState(movedTo(after, 1));
    if (state.at === questions.length - 1) decide({ decision: 'accept', answers });
  };
  const typingKeys: KeyTable = {
    upArrow: () => setState((now) => stepped(now, -1)),
    downArrow: () => setState((now) => stepped(now, 1)),
    tab: () => setState((now) => movedTo(now, 1)),
    'shift tab': () => setState((now) => movedTo(now, -1)),
    escape: onLeave,
  };
  const choosingKeys: KeyTable = {
    ...Object.fromEntries(
      Array.from({ length: 9 }, (_, at) => [at + 1, () => setState((now) => toggled(now, at))]),
    ),
    ...typingKeys,
    k: typingKeys.upArrow,
    j: typingKeys.downArrow,
    ' ': () => setState((now) => toggled(now, now.row)),
    return: next,
    d: () => setDeclines(true),
    n: () => setDeclines(true),
    l: onLeave,
    q: onLeave,
  };
  useKeys(isTyping ? typingKeys : choosingKeys, !declines);
  const enter = state.at < questions.length - 1 ? '⏎ next' : '⏎ send';
  const several = question?.multiple ? '  space select' : '';
  const offers = `${state.at + 1}/${questions.length}  ${enter}${several}`;
  const footer = declines ? (
    <Prompt
      columns={columns}
      question="Reason (optional, ⏎ declines):"
      onCancel={() => setDeclines(false)}
      onAnswer={(text) => decide({ decision: 'decline', reason: text === '' ? null : text })}
    />
  ) : (
    <Bar
      left={<StyledText tone="asks">{notices.notice || offers}</StyledText>}
      right={isTyping ? 'esc back' : 'd decline  esc back'}
    />
  );
  return (
    <Frame rows={rows} footer={footer}>
      <Options
        state={state}
        isActive={!declines}
        rows={rows - 1}
        columns={columns}
        onChange={(change) => setState((now) => written(now, change))}
        onEnter={next}
      />
    </Frame>
  );
}

interface OptionsProps {
  state: Answering;
  isActive: boolean;
  rows: number;
  columns: number;
  onChange: FieldProps['onChange'];
  onEnter: () => void;
}

/** The question and its options, those around the row where not all have room. */
function Options(props: OptionsProps): ReactNode {
  const { state, isActive, rows, columns, onChange, onEnter } = props;
  const { strong, accent } = useContext(Colors);
  const { question, options, isFree, isTyping, labels, editor } = currentQuestion(state);
  if (!question) return null;
  const header = question.header === null ? [] : [accent(oneLine(question.header))];
  const asked = wrapped(plain(question.question), columns).map(strong);
  const heading = [...header, ...asked, ''];
  const room = Math.max(1, rows - heading.length - 4);
  const from = Math.max(0, Math.min(state.row - Math.floor(room / 2), options.length - room));
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      <Lines lines={heading} height={Math.min(heading.length, rows - 2)} />
      {options.slice(from, from + room).map((option) => {
        const index = options.indexOf(option);
        const mark = labels.includes(option.label) ? '●' : '○';
        const detail = option.description === null ? '' : `  ${oneLine(option.description)}`;
        return (
          <ChoiceLine key={option.label} isChosen={index === state.row} detail={detail}>
            {`${mark} ${index + 1} ${oneLine(option.label)}`}
          </ChoiceLine>
        );
      })}
      {isFree && (
        <Box>
          <StyledText tone="name">{isTyping ? '▌' : ' '}</StyledText>
          <Field
            editor={editor}
            columns={columns - 2}
            rows={4}
            isActive={isTyping && isActive}
            placeholder={options.length === 0 ? 'Your answer' : 'Other answer'}
            onChange={onChange}
            onEnter={onEnter}
          />
        </Box>
      )}
    </Box>
  );
}

/** The answers so far, and the position in the questions. */
interface Answering {
  questions: readonly Question[];
  /** The question that is shown, and the row in it: an option, or the text after the last one. */
  at: number;
  row: number;
  chosen: Readonly<Record<string, readonly string[]>>;
  texts: Readonly<Record<string, Editor>>;
}

/** The question that is shown, what was answered to it, and whether the row is its text. */
function currentQuestion({ questions, at, row, chosen, texts }: Answering) {
  const question = questions[at];
  const { id = '', options = [], free = true } = question ?? {};
  const isFree = free || options.length === 0;
  return {
    question,
    options,
    isFree,
    isTyping: isFree && row === options.length,
    labels: ownEntry(chosen, id) ?? [],
    editor: ownEntry(texts, id) ?? emptyEditor,
  };
}

/** To another question. */
function movedTo(state: Answering, by: number): Answering {
  const at = Math.max(0, Math.min(state.questions.length - 1, state.at + by));
  return at === state.at ? state : { ...state, at, row: 0 };
}

/** To another row of the question. */
function stepped(state: Answering, by: number): Answering {
  const { options, isFree } = currentQuestion(state);
  const last = options.length - 1 + Number(isFree);
  return { ...state, row: Math.max(0, Math.min(last, state.row + by)) };
}

/** With an option chosen, or no longer chosen. */
function toggled(state: Answering, index: number): Answering {
  const { question, options, labels } = currentQuestion(state);
  const label = options[index]?.label;
  if (!question || label === undefined) return state;
  const rest = labels.filter((one) => one !== label);
  const several = question.multiple ? [...rest, label] : [label];
  const next = labels.includes(label) ? rest : several;
  return { ...state, row: index, chosen: { ...state.chosen, [question.id]: next } };
}

/** With another text as the answer to the question. */
function written(state: Answering, change: (editor: Editor) => Editor): Answering {
  const { question, editor } = currentQuestion(state);
  if (!question) return state;
  return { ...state, texts: { ...state.texts, [question.id]: change(editor) } };
}

/** With the option of the row chosen, where nothing else was chosen for the question. */
function taken(state: Answering): Answering {
  const { question, options, isTyping, labels } = currentQuestion(state);
  const isChosen = question?.multiple === true && labels.length > 0;
  return isTyping || isChosen || labels.includes(options[state.row]?.label ?? '')
    ? state
    : toggled(state, state.row);
}

/** The answers to the questions: what was chosen and written. */
function answersOf({ questions, chosen, texts }: Answering): Record<string, string[]> {
  return Object.fromEntries(
    questions.flatMap(({ id, multiple }) => {
      const text = (ownEntry(texts, id)?.text ?? '').trim();
      const labels = ownEntry(chosen, id) ?? [];
      const all = text === '' ? [...labels] : multiple ? [...labels, text] : [text];
      return all.length === 0 ? [] : [[id, all]];
    }),
  );
}
