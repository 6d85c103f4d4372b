import type { Question } from '../../../api/approvals.ts';
import { type Editor, emptyEditor } from '../forms/editor.ts';

/** The answers so far, and the position in the questions. */
export interface Answering {
  questions: readonly Question[];
  /** The question that is shown, and the row in it: an option, or the text after the last one. */
  at: number;
  row: number;
  chosen: Readonly<Record<string, readonly string[]>>;
  texts: Readonly<Record<string, Editor>>;
}

export function firstQuestion(questions: readonly Question[]): Answering {
  return { questions, at: 0, row: 0, chosen: {}, texts: {} };
}

/** The question that is shown, what was answered to it, and whether the row is its text. */
export function currentQuestion({ questions, at, row, chosen, texts }: Answering) {
  const question = questions[at];
  const { id = '', options = [], free = true } = question ?? {};
  const isFree = free || options.length === 0;
  return {
    question,
    options,
    isFree,
    isTyping: isFree && row === options.length,
    labels: chosen[id] ?? [],
    editor: texts[id] ?? emptyEditor,
  };
}

/** To another question. */
export function movedTo(state: Answering, by: number): Answering {
  const at = Math.max(0, Math.min(state.questions.length - 1, state.at + by));
  return at === state.at ? state : { ...state, at, row: 0 };
}

/** To another row of the question. */
export function stepped(state: Answering, by: number): Answering {
  const { options, isFree } = currentQuestion(state);
  const last = options.length - 1 + Number(isFree);
  return { ...state, row: Math.max(0, Math.min(last, state.row + by)) };
}

/** With an option chosen, or no longer chosen. */
export function toggled(state: Answering, index: number): Answering {
  const { question, options, labels } = currentQuestion(state);
  const label = options[index]?.label;
  if (!question || label === undefined) return state;
  const rest = labels.filter((one) => one !== label);
  const several = question.multiple ? [...rest, label] : [label];
  const next = labels.includes(label) ? rest : several;
  return { ...state, row: index, chosen: { ...state.chosen, [question.id]: next } };
}

/** With another text as the answer to the question. */
export function written(state: Answering, change: (editor: Editor) => Editor): Answering {
  const { question, editor } = currentQuestion(state);
  if (!question) return state;
  return { ...state, texts: { ...state.texts, [question.id]: change(editor) } };
}

/** With the option of the row chosen, where nothing else was chosen for the question. */
export function taken(state: Answering): Answering {
  const { question, isTyping, labels } = currentQuestion(state);
  const isChosen = question?.multiple === true && labels.length > 0;
  return isTyping || isChosen || labels.includes(labelOf(state))
    ? state
    : toggled(state, state.row);
}

function labelOf(state: Answering): string {
  return currentQuestion(state).options[state.row]?.label ?? '';
}

/** The answers to the questions: what was chosen and written. */
export function answersOf({ questions, chosen, texts }: Answering): Record<string, string[]> {
  return Object.fromEntries(
    questions.flatMap(({ id, multiple }) => {
      const text = (texts[id]?.text ?? '').trim();
      const labels = chosen[id] ?? [];
      const all = text === '' ? [...labels] : multiple ? [...labels, text] : [text];
      return all.length === 0 ? [] : [[id, all]];
    }),
  );
}
