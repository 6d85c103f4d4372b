import { type ReactNode, useState } from 'react';
import { endpoints } from '../../../api/index.ts';
import type { QueueEntry, SessionQueue } from '../../../api/queue.ts';
import type { Session } from '../../../api/sessions.ts';
import { oneLine } from '../../../client/event-summary.ts';
import { shorten } from '../../../core/lib/shorten.ts';
import { ago } from '../../terminal/time.ts';
import { type KeyTable, useKeys } from '../keyboard.ts';
import { Prompt } from '../prompt.tsx';
import { useRead, useObservable } from '../react-hooks.ts';
import type { DialogProps } from '../screen/screen-context.ts';
import { StyledText } from '../styled-text.tsx';
import { ChoiceLine, Frame } from './dialog.tsx';
import { counted } from '../../../core/lib/counted.ts';
import { inputText } from '../../../core/lib/input-text.ts';

interface QueueDialogProps extends DialogProps {
  session: Session;
}

/** The queue of a session in its order, with the keys that change it. */
export function QueueDialog(props: QueueDialogProps): ReactNode {
  const { session, context, notices, rows, columns } = props;
  const { client, clock } = context;
  const { queueSeq } = useObservable(context.overviewStore.overview);
  const queue = useRead(notices, [client, session.id, queueSeq], () =>
    client.call(endpoints.getSessionQueue, { params: { session_id: session.id } }),
  );
  const [choice, choose] = useState<Choice>({ id: null, index: 0 });
  const [mode, setMode] = useState<Mode>('list');
  const entries = queue?.entries ?? [];
  const at = indexOf(choice, entries);
  const chosen = entries[at];
  useKeys(listKeys(props, entries, at, choose, setMode), mode === 'list');
  const toList = () => setMode('list');
  const asked = mode === 'list' ? null : mode.entry;
  const isDrop = mode !== 'list' && mode.act === 'drop';
  const drop = () => {
    if (asked)
      notices.attempt(client.call(endpoints.dropQueueEntry, { params: { entry_id: asked.id } }));
    toList();
  };
  useKeys({ y: drop, n: toList, escape: toList }, isDrop);
  const now = clock.now();
  const footer =
    asked && !isDrop ? (
      <Prompt
        columns={columns}
        question="Prompt (⏎ save):"
        initial={textOf(asked) ?? ''}
        onCancel={toList}
        onAnswer={(text) => {
          toList();
          if (text.trim() === '') return;
          const edit = {
            params: { entry_id: asked.id },
            body: { input: { type: 'text', text } },
          } as const;
          notices.attempt(client.call(endpoints.editQueueEntry, edit));
        }}
      />
    ) : asked ? (
      `Drop "${shorten(labelOf(asked), columns - 40)}" from the queue?  y yes  n no`
    ) : (
      'J K move  e edit  p pause/resume  x drop  esc back'
    );
  return (
    <Frame rows={rows} footer={footer}>
      <StyledText tone="plain" bold>
        {headOf(queue, now)}
      </StyledText>
      {entries.slice(Math.max(0, at - rows + 4), Math.max(rows - 3, at + 1)).map((entry) => (
        <ChoiceLine key={entry.id} isChosen={entry === chosen}>
          <StyledText tone="faint">{`${whenOf(entry, now).padEnd(16)} `}</StyledText>
          {labelOf(entry)}
        </ChoiceLine>
      ))}
    </Frame>
  );
}

/** The list, or a question about an entry: the queue may change while a person answers. */
type Mode = 'list' | { act: 'edit' | 'drop'; entry: QueueEntry };
/** The entry that is chosen, and the index at which the choice stays once it has left the queue. */
interface Choice {
  id: string | null;
  index: number;
}

/** The keys of the list: they choose an entry, and change the one that is chosen. */
function listKeys(
  { context: { client }, notices: { attempt, showNotice }, onLeave }: QueueDialogProps,
  entries: readonly QueueEntry[],
  index: number,
  choose: (choice: Choice) => void,
  setMode: (mode: Mode) => void,
): KeyTable {
  const chosen = entries[index];
  const withChosen = (act: (entry: QueueEntry) => void) => () => {
    if (chosen) act(chosen);
  };
  const step = (by: number) => () => {
    const to = Math.max(0, Math.min(index + by, entries.length - 1));
    choose({ id: entries[to]?.id ?? null, index: to });
  };
  const move = (by: number) =>
    withChosen(({ id: entry_id }) => {
      const before = entries.filter(({ id }) => id !== entry_id)[index + by]?.id;
      if (index + by < 0) return;
      choose({ id: entry_id, index });
      const body = before === undefined ? { to: 'last' as const } : { before };
      attempt(client.call(endpoints.moveQueueEntry, { params: { entry_id }, body }));
    });
  return {
    escape: onLeave,
    q: onLeave,
    w: onLeave,
    upArrow: step(-1),
    k: step(-1),
    downArrow: step(1),
    j: step(1),
    K: move(-1),
    J: move(1),
    e: withChosen((entry) => {
      if (textOf(entry) === null)
        showNotice('the prompt has several lines: edit it with cadre queue edit');
      else setMode({ act: 'edit', entry });
    }),
    p: withChosen(({ id: entry_id, hold }) => {
      const endpoint = hold === null ? endpoints.pauseQueueEntry : endpoints.resumeQueueEntry;
      attempt(client.call(endpoint, { params: { entry_id }, body: {} }));
    }),
    x: withChosen((entry) => setMode({ act: 'drop', entry })),
  };
}

/** The index of the choice among the entries as they are now. */
function indexOf({ id, index }: Choice, entries: readonly QueueEntry[]): number {
  const found = entries.findIndex((one) => one.id === id);
  return found === -1 ? Math.max(0, Math.min(index, entries.length - 1)) : found;
}

function labelOf({ name, input }: QueueEntry): string {
  return oneLine([name, inputText(input)].filter(Boolean).join(': '));
}

function headOf(queue: SessionQueue | null, now: number): string {
  if (!queue) return 'Loading the queue …';
  const { holds, entries } = queue;
  const held = holds.map(({ message, until }) => {
    const end = until === null ? '' : ` for ${ago(until - now)}`;
    return `Held${end}: ${oneLine(message)}`;
  });
  const size = entries.length === 0 ? 'empty' : counted(entries.length, 'entry', 'entries');
  return [`Queue: ${size}`, ...held].join(' · ');
}

/** When an entry is due, or why it waits, in a few characters. */
function whenOf({ status, next_at, hold, every }: QueueEntry, now: number): string {
  if (hold !== null) return hold.code.replace('_', ' ');
  if (status !== 'scheduled' || next_at === null) return status;
  return `in ${ago(next_at - now)}${every === null ? '' : ' ↻'}`;
}

/** The text of an entry that one line can change; null for any other. */
function textOf({ input }: QueueEntry): string | null {
  const [first, ...more] = input;
  const isLine = first?.type === 'text' && more.length === 0 && !first.text.includes('\n');
  return isLine ? first.text : null;
}
