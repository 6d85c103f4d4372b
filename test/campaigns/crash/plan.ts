import type { FailpointName } from '../../../src/core/lib/failpoint.ts';
import type { Random } from './random.ts';

/** How one run of the server is to end. */
export interface Plan {
  /** It kills itself at the N-th passing of a place; null: it is killed from outside. */
  failpoint: { name: FailpointName; hit: number } | null;
  /** The moment counts from so many events of agents at work; 0: from the first request. */
  afterOutputs: number;
  /** And comes so much later. */
  delayMs: number;
  durability: 'full' | 'normal';
  /** Prompts with much output. */
  heavy: boolean;
}

/** From how many hits on a place is still reached within a cycle, roughly. */
const places: readonly { name: FailpointName; hits: number; heavy?: boolean }[] = [
  { name: 'commit.before', hits: 40 },
  { name: 'commit.after', hits: 40 },
  { name: 'sync.after', hits: 40 },
  { name: 'checkpoint.before', hits: 1, heavy: true },
  { name: 'checkpoint.after', hits: 1, heavy: true },
  { name: 'child.gated', hits: 4 },
  { name: 'child.registered', hits: 4 },
  { name: 'turn.accepted', hits: 5 },
  { name: 'turn.started', hits: 4 },
  { name: 'turn.ending', hits: 3 },
];

/** So long a server that is to kill itself may take to get there; then it is killed from outside. */
export const FAILPOINT_PATIENCE_MS = 1500;

export function planRun(random: Random): Plan {
  const place = random.chance(0.4) ? random.pick(places) : null;
  return {
    failpoint: place && { name: place.name, hit: random.between(1, place.hits) },
    afterOutputs: random.chance(0.75) ? random.between(1, 60) : 0,
    delayMs: random.between(0, 400),
    durability: random.chance(0.2) ? 'normal' : 'full',
    heavy: place?.heavy ?? random.chance(0.15),
  };
}

/** A run that dies as a turn is about to end, so that a campaign of any length has cut a turn short. */
export const firstRun: Plan = {
  failpoint: { name: 'turn.ending', hit: 1 },
  afterOutputs: 0,
  delayMs: 0,
  durability: 'full',
  heavy: false,
};

/** Environment of the server for this failpoint. */
export function environmentOf({ failpoint, durability }: Plan): Record<string, string> {
  const failpoints = failpoint
    ? { CADRE_FAILPOINTS: `${failpoint.name}=kill@${failpoint.hit}` }
    : {};
  return { CADRE_DATA_DURABILITY: durability, ...failpoints };
}

/** A run that is to end in order. */
export const quietRun: Plan = {
  failpoint: null,
  afterOutputs: 0,
  delayMs: 0,
  durability: 'full',
  heavy: false,
};
