import type { Background } from './background.ts';
import type { Base } from './base.ts';
import type { Edge, Nouns } from './build.ts';

/** The parts of a running server. */
export interface Running {
  base: Base;
  nouns: Nouns;
  edge: Edge;
  /** Disposing it ends the periodic work. */
  upkeep: Disposable;
  background: Background;
  /** Disposing it closes and releases everything that the start opened, in reverse order. */
  opened: AsyncDisposable;
}
