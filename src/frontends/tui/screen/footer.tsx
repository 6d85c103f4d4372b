import { Text } from 'ink';
import type { ReactNode } from 'react';
import { parseDuration } from '../../../core/lib/duration.ts';
import { Bar } from '../bar.tsx';
import { useKey } from '../keyboard.ts';
import { Notice, noticeLines } from '../notice.tsx';
import { Prompt } from '../prompt.tsx';
import { StyledText } from '../styled-text.tsx';
import type { KeyBindings } from './key-bindings.ts';
import { SavePrompt } from './save.tsx';
import type { ScreenState } from './screen-state.ts';
import type { Question } from './stop.ts';
import type { Choice } from '../list/layout.ts';

/** The last line: the question of the mode, else a notice or the keys for the selected row. */
export function Footer({ shown }: { shown: ScreenState }): ReactNode {
  const { context, mode, back, attempt, showNotice, view, columns } = shown;
  switch (mode.name) {
    case 'filter':
      return (
        <Prompt
          columns={columns}
          question="/"
          initial={view.filter}
          onChange={(filter) => context.listState.changeView({ filter })}
          onCancel={() => {
            context.listState.changeView({ filter: '' });
            back();
          }}
          onAnswer={back}
        />
      );
    case 'snooze':
      return (
        <Prompt
          columns={columns}
          question="Snooze for (30m, 2h, 1d; default 1h):"
          onCancel={back}
          onAnswer={(text) => {
            const ms = parseDuration(text === '' ? '1h' : text);
            back();
            if (ms === null) return showNotice(`invalid time "${text}": expected 30m, 2h or 1d`);
            attempt(
              context.actions.update(mode.session.id, { snoozed_until: context.clock.now() + ms }),
            );
          }}
        />
      );
    case 'rename':
      return (
        <Prompt
          columns={columns}
          question="New title (⏎ save):"
          initial={mode.session.title ?? ''}
          onCancel={back}
          onAnswer={(text) => {
            back();
            attempt(context.actions.update(mode.session.id, { title: text === '' ? null : text }));
          }}
        />
      );
    case 'save':
      return <SavePrompt shown={shown} item={mode.item} />;
    case 'confirm':
      return <Confirm shown={shown} question={mode.question} />;
    case 'copy':
      return <CopyMenu shown={shown} />;
    case 'approval':
    case 'diff':
      return null;
    default:
      return (
        <Bar
          rows={Math.max(1, shown.noticeLines.length)}
          left={<Notice lines={shown.noticeLines} hint={hintFor(shown)} />}
          right={rightOf(mode.name, columns, context.keys)}
        />
      );
  }
}

/** The lines of the notice; empty in a mode that uses the last line itself. */
export function noticeLinesIn(
  mode: string,
  notices: Parameters<typeof noticeLines>[0],
  columns: number,
  keys: KeyBindings,
): string[] {
  const isAsking = [
    'filter',
    'snooze',
    'rename',
    'confirm',
    'copy',
    'save',
    'approval',
    'diff',
  ].includes(mode);
  return isAsking
    ? []
    : noticeLines(notices, { columns, beside: rightOf(mode, columns, keys).length });
}

function rightOf(mode: string, columns: number, keys: KeyBindings): string {
  if (mode === 'list')
    return columns < 60 ? keys.label('help') : `${keys.hint('help')}  ${keys.hint('quit')}`;
  return columns < 60 ? 'esc' : 'esc back';
}

/** The most useful keys for the marked rows, or for the selected row or section. */
function hintFor({ context: { keys }, mode, view, marks }: ScreenState): string {
  if (mode.name !== 'list' && mode.name !== 'pane') return '';
  const hints =
    marks.items.length > 0 && mode.name === 'list'
      ? [keys.hint('decline'), keys.hint('stop'), keys.hint('pin'), 'esc clear marks']
      : hintsOf(view.chosen, keys);
  const filter = view.filter === '' ? '' : `/${view.filter}  `;
  return filter + hints.join('  ');
}

/** Asks a question that single keys answer. Any other key answers it with no. */
function Confirm({ shown, question }: { shown: ScreenState; question: Question }): ReactNode {
  const { attempt, back } = shown;
  const { text, answers } = question;
  useKey((input) => {
    const answer = answers.find(({ keys }) => input !== '' && keys.includes(input));
    back();
    if (answer) attempt(answer.work());
  });
  return (
    <Text wrap="truncate-end">
      <StyledText tone="asks">{text}</StyledText>
      {`  ${answers.map(({ label }) => label).join('  ')}  `}
      <StyledText tone="faint">other keys: cancel</StyledText>
    </Text>
  );
}

/** Asks what is to be copied to the clipboard of the terminal. */
function CopyMenu({ shown }: { shown: ScreenState }): ReactNode {
  const { context, showNotice, back } = shown;
  const offers = shown.copyable();
  useKey((input) => {
    const offer = offers[Number(input) - 1];
    back();
    if (!offer) return;
    const isSent = context.terminal.copy(offer.text);
    showNotice(
      isSent
        ? `Copied: ${offer.name}`
        : `cannot copy ${offer.name}: too long for the clipboard of the terminal`,
    );
  });
  return (
    <Text wrap="truncate-end">
      <StyledText tone="asks">Copy: </StyledText>
      {offers.map(({ name }, i) => `${i + 1} ${name}`).join('  ')}
      <StyledText tone="faint">{'  other keys: cancel'}</StyledText>
    </Text>
  );
}

function hintsOf(chosen: Choice | undefined, keys: KeyBindings): string[] {
  const hint = keys.hint.bind(keys);
  if (!chosen) return [hint('new_session')];
  if ('section' in chosen) return [hint('open', 'expand')];
  const { item } = chosen;
  const answer = [hint('approve'), hint('decline'), hint('open'), hint('stop')];
  switch (item.kind) {
    case 'approval':
      return answer;
    case 'session': {
      const { status, active_turn_id } = item.now.session;
      if (status === 'waiting_for_approval') return answer;
      const open = hint('open');
      const create = hint('new_session', 'new');
      if (status === 'closed') return [open, hint('copy'), create];
      const stop = active_turn_id === null ? hint('stop', 'close') : hint('stop');
      if (status === 'failed') return [hint('restart', 'resume'), open, stop];
      return [hint('prompt'), open, create, stop, hint('snooze'), hint('pin')];
    }
    case 'process':
      return [
        hint('open', 'log'),
        hint('restart'),
        ...(item.process.ended_at === null ? [hint('stop', 'kill')] : []),
        hint('copy'),
      ];
    case 'team':
      return [hint('open'), hint('events'), hint('stop', 'interrupt all')];
  }
}
