import type { FailpointName } from '../../../src/core/lib/failpoint.ts';
import type { Random } from '../crash/random.ts';
import { liveFaults } from './live-faults.ts';

/** The end of a run. */
export type Ending =
  | 'kill'
  | 'kill of a stopped server'
  | 'kill with the keeper'
  | 'kill with stopped agents'
  | 'kill on a full disk'
  | 'failpoint'
  | 'stop in order';

/** The state of the machine in which a server starts. */
export type Start =
  | 'usual'
  | 'few descriptors'
  | 'small heap'
  | 'little address space'
  | 'read-only disk'
  | 'full disk';

/** One run of a server. */
export interface Plan {
  start: Start;
  faults: string[];
  ending: Ending;
  failpoint: { name: FailpointName; hit: number };
  durability: 'full' | 'normal';
  /** Time between two faults. */
  pausesMs: number[];
}

const endings: readonly Ending[] = [
  'kill',
  'kill',
  'kill',
  'kill of a stopped server',
  'kill with the keeper',
  'kill with stopped agents',
  'kill on a full disk',
  'failpoint',
  'failpoint',
  'stop in order',
];

const starts: readonly Start[] = [
  'few descriptors',
  'small heap',
  'little address space',
  'read-only disk',
  'full disk',
];

const failpoints: readonly { name: FailpointName; hits: number }[] = [
  { name: 'commit.before', hits: 100 },
  { name: 'commit.after', hits: 100 },
  { name: 'sync.after', hits: 100 },
  { name: 'checkpoint.before', hits: 1 },
  { name: 'checkpoint.after', hits: 1 },
  { name: 'child.gated', hits: 8 },
  { name: 'child.registered', hits: 8 },
  { name: 'turn.accepted', hits: 8 },
  { name: 'turn.started', hits: 8 },
  { name: 'turn.ending', hits: 8 },
  { name: 'worktree.creating', hits: 2 },
  { name: 'worktree.added', hits: 2 },
  { name: 'worktree.made', hits: 2 },
  { name: 'worktree.archived', hits: 1 },
  { name: 'worktree.aside', hits: 1 },
  { name: 'worktree.removed', hits: 1 },
  { name: 'worktree.moving', hits: 1 },
  { name: 'worktree.moved', hits: 1 },
  { name: 'worktree.restored', hits: 1 },
];

/** Kills come more often than other faults. */
const weighted = Object.keys(liveFaults).flatMap((name) =>
  name.startsWith('kill of') ? Array.from({ length: 4 }, () => name) : [name],
);

/** Draws a run. Without a disk that can be mounted, its faults are left out. */
export function planRun(random: Random, { hasDisk }: { hasDisk: boolean }): Plan {
  const needsNoDisk = (name: string) => hasDisk || !name.includes('disk');
  const start = random.chance(0.2) ? random.pick(starts.filter(needsNoDisk)) : 'usual';
  const faults = Array.from({ length: random.between(3, 9) }, () =>
    random.pick(weighted.filter(needsNoDisk)),
  );
  const place = random.pick(failpoints);
  return {
    start,
    faults,
    ending: random.pick(endings.filter(needsNoDisk)),
    failpoint: { name: place.name, hit: random.between(1, place.hits) },
    durability: random.chance(0.2) ? 'normal' : 'full',
    pausesMs: faults.map(() => random.between(0, 500)),
  };
}
