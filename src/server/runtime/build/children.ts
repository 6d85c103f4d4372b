import os from 'node:os';
import path from 'node:path';
import type { Shim } from '../../../core/children/shim/shim.ts';
import { Keeper } from '../../../core/children/keeper.ts';
import { Ledger } from '../../../core/children/ledger.ts';
import { Networks } from '../../../core/children/sandbox/network/networks.ts';
import { Sandbox } from '../../../core/children/sandbox/sandbox.ts';
import { Supervisor } from '../../../core/children/supervisor.ts';
import { withHome } from '../../../core/config/sandbox-section.ts';
import { newSecret } from '../../../core/lib/ids.ts';
import { portVariables } from '../../work/worktrees/ports.ts';
import type { WorktreeStore } from '../../work/worktrees/store.ts';
import type { Base } from '../base.ts';

export type Children = ReturnType<typeof buildChildren>;

/** Builds the supervisor of child processes. `marker` is in the environment of each child of this run. */
export function buildChildren(base: Base, worktrees: WorktreeStore, shim: Shim | null = null) {
  const { db, clock, failpoint, logger: log } = base;
  const marker = newSecret();
  const keeper = new Keeper({ marker, log });
  const ledger = new Ledger({ db, clock, marker });
  const variablesAt = (directory: string): Record<string, string> => {
    const worktree = db.peek((rx) => worktrees.around(rx, directory));
    return worktree ? portVariables(worktree) : {};
  };
  const supervisor = new Supervisor({
    keeper,
    ledger,
    shim,
    clock,
    failpoint,
    log,
    marker,
    variablesAt,
  });
  const networks = buildNetworks(base);
  const sandbox = buildSandbox(base, networks);
  return { marker, keeper, ledger, shim, supervisor, networks, sandbox };
}

function buildNetworks({ clock, logger }: Base): Networks {
  return new Networks({
    clock,
    searchPath: process.env.PATH ?? '',
    onProblem: (owner, what, error) =>
      logger.warn(
        { owner: path.basename(owner), what, err: error },
        'a sandbox cannot use a part of its network',
      ),
  });
}

/** Builds the sandbox of child processes. Only a server whose configuration has a sandbox loads the probe. */
function buildSandbox({ config, clock, logger, directory }: Base, networks: Networks): Sandbox {
  const { sandbox, worktrees } = config.now;
  const home = os.homedir();
  const settings = withHome(sandbox, home);
  const searchPath = process.env.PATH ?? '';
  return new Sandbox({
    settings,
    clock,
    logger,
    networks,
    paths: {
      home,
      dataDirectory: directory,
      worktrees: worktrees.root_dir ?? path.join(directory, 'worktrees'),
      searchPath,
    },
    async probe(own) {
      const { probeThisMachine } = await import('../../../core/children/sandbox/run-probe.ts');
      const { network, nests } = settings;
      return probeThisMachine({ searchPath, network, nests, directory: own }, clock);
    },
  });
}
