import type { ReactNode } from 'react';
import type { RuntimeEventRecord } from '../../api/events.ts';
import type { EventScope } from '../../client/event-scope.ts';
import { describeGap } from '../../client/event-summary.ts';
import { Bar } from './bar.tsx';
import { Notice } from './notice.tsx';
import { Prompt } from './prompt.tsx';
import type { Asked } from './dialogs/approval.tsx';
import { matchCount, type View } from './state.ts';
import { Tint } from './tint.tsx';

/** What the page shows: the list, or a layer over it. */
export type Layer =
  | { name: 'list' | 'help' | 'search' | 'filter' }
  | { name: 'detail'; event: RuntimeEventRecord | null }
  | { name: 'sheet'; asked: Asked };

export interface TailFootProps {
  layer: Layer;
  view: View;
  scope: EventScope;
  url: string;
  said: readonly string[];
  columns: number;
  onSearch: (text: string) => void;
  onFilter: (text: string) => void;
  onBack: () => void;
}

/** The last line: the prompt of the layer, else a notice or the position in the log. */
export function TailFoot(props: TailFootProps): ReactNode {
  const { layer, view, scope, url, said, columns, onBack } = props;
  switch (layer.name) {
    case 'search':
      return (
        <Prompt
          columns={columns}
          question="/"
          initial={view.search}
          onCancel={onBack}
          onAnswer={props.onSearch}
        />
      );
    case 'filter':
      return (
        <Prompt
          columns={columns}
          question="Kinds (turn tool.completed; empty: all):"
          initial={scope.kinds?.join(' ') ?? ''}
          onCancel={onBack}
          onAnswer={props.onFilter}
        />
      );
    case 'sheet':
      return null;
    default:
      return (
        <Bar
          rows={Math.max(1, said.length)}
          left={<Notice lines={said} hint={describeView(view, url)} />}
          right={<Tint tone="faint">{rightOf(layer.name)}</Tint>}
        />
      );
  }
}

export function rightOf(layer: Layer['name']): string {
  return layer === 'list' ? '? help  q quit' : 'esc back';
}

/** How much of the log was read or searched, what was found in it, and from which server. */
function describeView(view: View, url: string): string {
  const { search, gap, seq, rows, hasStart, isCut } = view;
  const hole = gap ? [`gap: ${describeGap(gap)}`] : [];
  const isAll = hasStart && !isCut;
  const read = isAll ? `all ${rows.length} rows` : `${rows.length} rows`;
  const searched = isAll ? read : `${rows.length} loaded rows`;
  const found = search === '' ? [] : [`"${search}" in ${matchCount(view)} of ${searched}`];
  return [...hole, ...found, `seq ${seq}`, ...(search === '' ? [read] : []), url].join('  ');
}
