import type { ReactNode } from 'react';
import { useSource } from '../react-hooks.ts';
import type { LogModel } from './log-model.ts';
import { ReaderPane } from './pane.tsx';
import type { PaneProps } from './pane-props.ts';

/** The output of a process, as it prints it. */
export function LogPane(props: PaneProps<LogModel>): ReactNode {
  const { model } = props;
  const shown = useSource(model.shown);
  const ended = useSource(model.ended);
  const what = shown === 'both' ? 'stdout and stderr' : shown;
  return (
    <ReaderPane
      {...props}
      keys={{ o: () => model.switch() }}
      empty={ended ? 'No output' : 'No output yet'}
      status={`${what}${ended ? ', exited' : ''}  o switch`}
    />
  );
}
