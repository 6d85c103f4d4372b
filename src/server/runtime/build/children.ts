import { Keeper } from '../../../core/children/keeper.ts';
import { Ledger } from '../../../core/children/ledger.ts';
import { Supervisor } from '../../../core/children/supervisor.ts';
import { newSecret } from '../../../core/lib/ids.ts';
import type { Base } from '../base.ts';

/** The functions of later nouns that children need. */
interface ChildHooks {
  /** Returns variables that every child in a directory gets. */
  variablesAt: (directory: string) => Record<string, string>;
}

export type Children = ReturnType<typeof buildChildren>;

/** Builds the supervisor of child processes. `marker` is in the environment of each child of this run. */
export function buildChildren({ db, clock, failpoint, logger: log }: Base) {
  const marker = newSecret();
  const keeper = new Keeper({ marker, log });
  const ledger = new Ledger({ db, clock, marker });
  const hooks: ChildHooks = { variablesAt: () => ({}) };
  const variablesAt = (directory: string) => hooks.variablesAt(directory);
  const supervisor = new Supervisor({ keeper, ledger, clock, failpoint, log, marker, variablesAt });
  return { marker, keeper, ledger, supervisor, hooks };
}
