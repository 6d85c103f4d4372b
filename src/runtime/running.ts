import type { Background } from './background.ts';
import type { Base } from './base.ts';
import type { Edge, Nouns } from './build.ts';

/** A server that runs, in its parts. */
export interface Running {
  base: Base;
  nouns: Nouns;
  edge: Edge;
  /** Disposing it ends what is done again and again. */
  upkeep: Disposable;
  background: Background;
  /** Disposing it closes and releases what the start has opened, the last first. */
  opened: AsyncDisposable;
}
