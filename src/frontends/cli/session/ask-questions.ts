import type { Approval, Question } from '../../../api/approvals.ts';
import { ownEntry } from '../../../core/lib/own-entry.ts';
import { revealed } from '../../../core/lib/plain.ts';
import { wrapped } from '../../terminal/width.ts';
import type { Answer, AskingMore } from './ask-approval.ts';
import { Keyboard } from './keyboard.ts';
import { readLine } from './read-line.ts';
import { sizeOf, type Terminal } from './terminal.ts';

/**
 * Puts the questions of an approval one after the other, each answered with a line: the numbers of options, or a text.
 * `/n` declines all of them, `/l` leaves them open, and Ctrl-D leaves the command as well. Rejects with the signal's reason if it aborts.
 */
export async function askQuestions(
  terminal: Terminal,
  { title, questions }: Approval,
  { signal }: AskingMore,
): Promise<Answer> {
  const { output, palette } = terminal;
  output.write(`\n${palette.strong(revealed(`the agent asks: ${title}`))}\n`);
  {
    using keyboard = new Keyboard(terminal);
    await keyboard.quiet(terminal.clock, signal);
  }
  const answers: Record<string, string[]> = {};
  for (const question of questions ?? []) {
    const answer = await askOne(terminal, question, signal);
    if (answer === 'decline') return { decision: 'decline' };
    if (typeof answer === 'string') return answer;
    if (answer.length > 0) answers[question.id] = answer;
  }
  return { decision: 'accept', answers };
}

async function askOne(
  terminal: Terminal,
  question: Question,
  signal: AbortSignal,
): Promise<string[] | 'decline' | 'later' | 'leave'> {
  const { output } = terminal;
  const text = [question.header, question.question].filter(Boolean).join(': ');
  const options = question.options.map(({ label, description }, at) =>
    description === null ? `  ${at + 1}  ${label}` : `  ${at + 1}  ${label}: ${description}`,
  );
  const { columns } = sizeOf(terminal);
  for (const line of wrapped(revealed([text, ...options].join('\n')), columns))
    output.write(`${line}\n`);
  for (;;) {
    const line = await readLine(terminal, `${howToAnswer(question)}: `, signal);
    if (line === null) return 'leave';
    const way = ownEntry(ways, line.trim().toLowerCase());
    if (way) return way;
    const read = readAnswer(line, question);
    if (Array.isArray(read)) return read;
    output.write(`${read}\n`);
  }
}

/** Lines that answer no question. */
const ways: Readonly<Record<string, 'decline' | 'later'>> = { '/n': 'decline', '/l': 'later' };

function howToAnswer({ options, free, multiple, required }: Question): string {
  const kinds = [
    ...(options.length > 0 ? [multiple ? 'numbers such as 1,3' : 'a number'] : []),
    ...(free || options.length === 0 ? ['a text'] : []),
    ...(required ? [] : ['nothing']),
  ];
  return `${kinds.join(', or ')}; /n declines, /l later`;
}

/** The answers in a line, or the problem of the line. */
export function readAnswer(line: string, question: Question): string[] | string {
  const { options, multiple, required, type } = question;
  const isFree = question.free || options.length === 0;
  const text = line.trim();
  if (text === '') return required ? 'An answer is required.' : [];
  const parts = multiple ? text.split(',').map((part) => part.trim()) : [text];
  const chosen = parts.filter(Boolean).map((part) => optionOf(part, question));
  if (chosen.every((one) => one !== undefined)) return chosen;
  if (!isFree) return `Enter a number from 1 to ${options.length}.`;
  const answers = multiple && options.length > 0 ? parts.filter(Boolean) : [text];
  const answer = answers.map((part) => optionOf(part, question) ?? part);
  const isNumber = (part: string) =>
    type === 'integer' ? /^[-+]?\d+$/.test(part) : part !== '' && Number.isFinite(Number(part));
  if (type !== 'text' && !answer.every(isNumber))
    return type === 'integer' ? 'Enter a whole number.' : 'Enter a number.';
  return answer;
}

function optionOf(part: string, { options }: Question): string | undefined {
  const named = options.find(({ label }) => label.toLowerCase() === part.toLowerCase());
  return (named ?? (/^\d{1,4}$/.test(part) ? options[Number(part) - 1] : undefined))?.label;
}
