import type { ReactNode } from 'react';
import { parseDuration } from '../../../core/lib/duration.ts';
import { Bar } from '../bar.tsx';
import { Notice, noticeLines } from '../notice.tsx';
import { Prompt } from '../prompt.tsx';
import { Tint } from '../tint.tsx';
import { Confirm } from './confirm.tsx';
import { CopyMenu } from './copy.tsx';
import { hintOf, markedHint } from './hints.ts';
import type { OwnKeys } from './own-keys.ts';
import { SavePrompt } from './save.tsx';
import type { ScreenState } from './screen-state.ts';

/** The last line: the question of the mode, else a notice or the keys for what is selected. */
export function Foot({ shown }: { shown: ScreenState }): ReactNode {
  const { place, mode, back, attempt, view, columns } = shown;
  switch (mode.name) {
    case 'filter':
      return (
        <Prompt
          columns={columns}
          question="/"
          initial={view.filter}
          onChange={(filter) => place.listState.changeView({ filter })}
          onCancel={() => {
            place.listState.changeView({ filter: '' });
            back();
          }}
          onAnswer={back}
        />
      );
    case 'snooze':
      return <Snooze shown={shown} session={mode.session} onDone={back} />;
    case 'rename':
      return (
        <Prompt
          columns={columns}
          question="New title (⏎ save):"
          initial={mode.session.title ?? ''}
          onCancel={back}
          onAnswer={(text) => {
            back();
            attempt(place.acts.update(mode.session.id, { title: text === '' ? null : text }));
          }}
        />
      );
    case 'save':
      return <SavePrompt shown={shown} thing={mode.thing} />;
    case 'confirm':
      return <Confirm question={mode.question} attempt={attempt} onDone={back} />;
    case 'copy':
      return <CopyMenu shown={shown} onDone={back} />;
    case 'sheet':
    case 'diff':
      return null;
    default:
      return (
        <Bar
          rows={Math.max(1, shown.said.length)}
          left={<Hint shown={shown} />}
          right={<Tint tone="faint">{rightOf(mode.name, columns, place.keys)}</Tint>}
        />
      );
  }
}

/** What the last lines tell in a mode; empty in one that has another use for them. */
export function saidIn(
  mode: string,
  notices: Parameters<typeof noticeLines>[0],
  columns: number,
  keys: OwnKeys,
): string[] {
  const isAsking = [
    'filter',
    'snooze',
    'rename',
    'confirm',
    'copy',
    'save',
    'sheet',
    'diff',
  ].includes(mode);
  return isAsking
    ? []
    : noticeLines(notices, { columns, beside: rightOf(mode, columns, keys).length });
}

function rightOf(mode: string, columns: number, keys: OwnKeys): string {
  if (mode === 'list')
    return columns < 60 ? keys.label('help') : `${keys.hint('help')}  ${keys.hint('quit')}`;
  return columns < 60 ? 'esc' : 'esc back';
}

function Hint({ shown }: { shown: ScreenState }): ReactNode {
  const { place, mode, said, view, marks } = shown;
  const isMarked = marks.things.length > 0 && mode.name === 'list';
  const hints = isMarked ? markedHint(place.keys) : hintOf(view.chosen, place.keys);
  const filter = view.filter === '' ? '' : `/${view.filter}  `;
  const hint = mode.name === 'list' || mode.name === 'pane' ? filter + hints : '';
  return <Notice lines={said} hint={hint} />;
}

function Snooze({
  shown: { place, attempt, tell, columns },
  session,
  onDone,
}: {
  shown: ScreenState;
  session: { id: string };
  onDone: () => void;
}): ReactNode {
  return (
    <Prompt
      columns={columns}
      question="Snooze for (30m, 2h, 1d; default 1h):"
      onCancel={onDone}
      onAnswer={(text) => {
        const ms = parseDuration(text === '' ? '1h' : text);
        onDone();
        if (ms === null) return tell(`invalid time "${text}": expected 30m, 2h or 1d`);
        attempt(place.acts.update(session.id, { snoozed_until: place.clock.now() + ms }));
      }}
    />
  );
}
