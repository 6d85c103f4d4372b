import { logPath } from '../work/processes/log-file.ts';
import { NOTICE_TAIL } from '../work/processes/notices.ts';
import { readPrinted } from '../work/processes/reading.ts';
import { type Recovered, recover } from '../upkeep/recovery/recover.ts';
import type { Base } from './base.ts';
import type { Nouns } from './build.ts';

/** Repairs the rows that the last run left unfinished, noun by noun, before anything of this run acts. */
export function recoverRows(base: Base, nouns: Nouns): Promise<Recovered> {
  const { storage, children, providers, sessions, processes, worktrees, teams } = nouns;
  return recover({
    ...base,
    sessionStore: sessions.store,
    processes: processes.store,
    worktrees: worktrees.worktreeRecovery,
    readPrinted: (id) => readPrinted((stream) => logPath(storage.logs, id, stream), NOTICE_TAIL),
    notices: processes.notices,
    inbox: sessions.inbox,
    teams: teams.store,
    ledger: children.ledger,
    durability: base.config.now.data.durability,
    canResume: ({ provider }) => providers.registry.find(provider)?.capabilities.resume ?? false,
  });
}
