import type { ReactNode } from 'react';
import type { NodeState } from '../node-state.ts';
import { duration } from '../duration.ts';
import { Tint } from '../tint.tsx';

/** How several servers are, in a few words: the one that is not well, or how many of them are. */
export function NodesHealth({
  nodes,
  now,
}: {
  nodes: readonly NodeState[];
  now: number;
}): ReactNode {
  const isIll = ({ server }: NodeState) => server !== null && server.health.status !== 'ok';
  const away = nodes.filter(({ state }) => state === 'away');
  const ill = nodes.filter(isIll);
  const [first] = [...away, ...ill];
  const live = nodes.filter(({ state }) => state === 'live').length;
  if (!first)
    return live < nodes.length ? (
      <Tint tone="faint">{`loading ${live}/${nodes.length}`}</Tint>
    ) : (
      <Tint tone="good">{`${live} live`}</Tint>
    );
  const since = first.since === null ? '' : ` ${duration(now - first.since)}`;
  const what = first.since === null ? first.server?.health.status : 'unreachable';
  const text =
    away.length > 1
      ? `${away.length} of ${nodes.length} unreachable`
      : `${first.name} ${what}${since}`;
  return (
    <Tint tone="bad" bold>
      {text}
    </Tint>
  );
}
