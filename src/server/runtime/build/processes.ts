import { agentVariables } from '../../../core/config/secrets.ts';
import { ExitNotices } from '../../work/processes/notices.ts';
import { ProcessRunner } from '../../work/processes/runner.ts';
import { ProcessService } from '../../work/processes/service.ts';
import { ProcessStore } from '../../work/processes/store.ts';
import type { Base } from '../base.ts';
import type { Children } from './children.ts';
import type { Sessions } from './sessions.ts';
import type { Storage } from './storage.ts';

export type Processes = ReturnType<typeof buildProcesses>;

/** Builds the processes of sessions and people, and the notices of their end. */
export function buildProcesses(
  base: Base,
  needs: { storage: Storage; children: Children; sessions: Sessions },
) {
  const { config } = base;
  const { sandbox, supervisor } = needs.children;
  const { inbox, store: sessionStore } = needs.sessions;
  const store = new ProcessStore(base);
  const notices = new ExitNotices({ inbox, store, sessionStore });
  const runner = new ProcessRunner({
    ...base,
    store,
    supervisor,
    directory: needs.storage.logs,
    settings: () => config.now.processes,
    secretVariables: () => agentVariables(config.now).map(([name]) => name),
    notices,
  });
  const service = new ProcessService({
    ...base,
    store,
    sessionStore,
    sandbox,
    runner,
    settings: () => config.now.processes,
    assertRoom: needs.storage.assertRoom,
  });
  return { store, notices, runner, service };
}
