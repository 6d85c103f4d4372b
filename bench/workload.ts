import type { SecondBaseline, Subject } from './subject.ts';

/** Figures that one side of a workload measured in one round. */
export type Measures = Record<string, number>;

/** The two lengths of a workload: `short` takes seconds a round, `full` is what the published tables are made of. */
export type Form = 'short' | 'full';

/** The server that a workload measures, and where its data lies. */
export interface RoundContext {
  subject: Subject;
  /** New in each round, unless the workload has `prepare`: then the one that was prepared. */
  directory: string;
  /** From 0 on. */
  round: number;
}

/**
 * A workload that is measured on servers and on a minimal baseline. `Size` says how much work it is.
 *
 * `needs`: what a subject has to be. `server`: any server of the interface. `process`: one that the bench starts, so that
 * its start and memory can be measured. `program`: a cadre whose commands can be run, too.
 */
export interface Workload<Size> {
  about: string;
  needs: 'server' | 'process' | 'program';
  /** The unit of each figure. More is better where it ends with `/s`, less for all others. */
  units: Record<string, string>;
  sizes: Record<Form, Size>;
  /** Servers of `baselines` that run it too. The first one is the second baseline, to which ratios are given. */
  servers?: readonly SecondBaseline[];
  /** Is called once for each subject, before all rounds: makes the state that the rounds only read. */
  prepare?: (context: RoundContext, size: Size) => Promise<void>;
  server: (context: RoundContext, size: Size) => Promise<Measures>;
  bare: (directory: string, size: Size) => Promise<Measures>;
}

/** A workload whose size has been chosen. */
export interface Sized {
  about: string;
  needs: Workload<unknown>['needs'];
  units: Record<string, string>;
  servers: readonly SecondBaseline[];
  prepare: ((context: RoundContext) => Promise<void>) | null;
  server(context: RoundContext): Promise<Measures>;
  bare(directory: string): Promise<Measures>;
}

/** Hides the type of a workload's size, so that workloads of all sizes fit in one table. */
export function workload<Size>(given: Workload<Size>): (form: Form) => Sized {
  return (form) => {
    const size = given.sizes[form];
    const { about, needs, units, servers = [], prepare } = given;
    return {
      about,
      needs,
      units,
      servers,
      prepare: prepare ? (context) => prepare(context, size) : null,
      server: (context) => given.server(context, size),
      bare: (directory) => given.bare(directory, size),
    };
  };
}
