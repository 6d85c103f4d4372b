import { Keeper } from '../../children/keeper.ts';
import { Ledger } from '../../children/ledger.ts';
import { Supervisor } from '../../children/supervisor.ts';
import { newSecret } from '../../lib/ids.ts';
import type { Base } from '../base.ts';

export type Children = ReturnType<typeof buildChildren>;

/** Builds the supervisor of child processes. `marker` is in the environment of each child of this run. */
export function buildChildren({ db, clock, failpoint, logger: log }: Base) {
  const marker = newSecret();
  const keeper = new Keeper({ marker, log });
  const ledger = new Ledger({ db, clock, marker });
  const supervisor = new Supervisor({ keeper, ledger, clock, failpoint, log, marker });
  return { marker, keeper, ledger, supervisor };
}
