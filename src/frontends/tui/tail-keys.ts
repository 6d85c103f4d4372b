import type { Approval } from '../../api/approvals.ts';
import type { EventScope } from '../../client/event-scope.ts';
import type { Notices } from './react-hooks.ts';
import { moveKeys, useKeys } from './keyboard.ts';
import { readKinds } from './kinds.ts';
import { narrowed, scopes } from './scope.ts';
import { foundNext, moved, paused, searching, selectedRow, type View, visible } from './state.ts';
import type { Tail } from './tail.ts';
import type { Layer } from './tail-foot.tsx';

interface TailKeys extends Pick<Notices, 'tell' | 'attempt'> {
  tail: Tail;
  view: View;
  scope: EventScope;
  /** How many rows the list shows. */
  height: number;
  layer: Layer;
  setLayer: (layer: Layer) => void;
  approval: Approval | undefined;
  onNextApproval: () => void;
  onLeave: () => void;
}

/** Subscribes to the keys of the page of events. Returns how the answers of its prompts are taken. */
export function useTailKeys(page: TailKeys) {
  const { tail, scope, height, layer, setLayer, tell } = page;
  const { go, step, showDetail } = movesOf(page);
  const back = () => setLayer({ name: 'list' });
  const endNotice = () => tell('');
  useKeys(listKeys(page), layer.name === 'list', endNotice);
  const stepDetail = (by: number) => () => {
    step(by)();
    showDetail();
  };
  useKeys(
    { escape: back, return: back, q: back, leftArrow: stepDetail(-1), rightArrow: stepDetail(1) },
    layer.name === 'detail',
    endNotice,
  );
  return {
    back,
    search: (text: string) => {
      back();
      go((at) => searching(at, text, height));
    },
    filter: (text: string) => {
      back();
      const { kinds, unknown } = readKinds(text);
      if (unknown === null) tail.open({ ...scope, kinds });
      else tell(unknown);
    },
  };
}

function listKeys(page: TailKeys): Parameters<typeof useKeys>[0] {
  const { tail, view, height, setLayer, onNextApproval, onLeave } = page;
  const { go, step, showDetail } = movesOf(page);
  const toEnd = () => tail.toEnd();
  return {
    ...moveKeys({ height, by: step, toStart: step(-view.rows.length), toEnd }),
    ' ': () => (view.follows ? go((at) => paused(at, height)) : toEnd()),
    return: showDetail,
    '/': () => setLayer({ name: 'search' }),
    n: () => go((at) => foundNext(at, -1, height)),
    N: () => go((at) => foundNext(at, 1, height)),
    f: () => setLayer({ name: 'filter' }),
    e: () => tail.open({}),
    ...Object.fromEntries(scopes.map((one) => [one.key, () => narrow(page, one)])),
    a: () => ask(page, 'accept'),
    d: () => ask(page, 'decline'),
    tab: onNextApproval,
    '?': () => setLayer({ name: 'help' }),
    q: onLeave,
    escape: () => {
      if (view.search !== '') go((at) => searching(at, '', height));
    },
  };
}

function movesOf({ tail, height, setLayer, attempt }: TailKeys) {
  const go = (next: (view: View) => View) => {
    tail.view.change(next);
    const after = tail.view.get();
    if (visible(after, height).rows[0] === after.rows[0]) attempt(tail.older());
  };
  return {
    go,
    step: (by: number) => () => go((at) => moved(at, by, height)),
    showDetail: () => {
      const row = selectedRow(tail.view.get());
      if (!row) return;
      attempt(tail.record(row.last).then((event) => setLayer({ name: 'detail', event })));
    },
  };
}

function narrow({ tail, view, scope, tell }: TailKeys, wanted: (typeof scopes)[number]): void {
  const row = selectedRow(view);
  const next = row && narrowed(scope, wanted, row);
  if (next) tail.open(next);
  else tell(`this event has no ${wanted.noun}`);
}

function ask({ approval, setLayer, tell }: TailKeys, intent: 'accept' | 'decline'): void {
  if (approval) setLayer({ name: 'sheet', asked: { approval, intent } });
  else tell('no pending approval');
}
