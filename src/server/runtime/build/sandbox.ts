import os from 'node:os';
import path from 'node:path';
import { Sandbox } from '../../../core/children/sandbox/sandbox.ts';
import type { Base } from '../base.ts';

/** Builds the sandbox of child processes. Only a server whose configuration has a sandbox loads the probe. */
export function buildSandbox({ config, clock, logger, directory }: Base): Sandbox {
  const { sandbox: settings, worktrees } = config.now;
  const searchPath = process.env.PATH ?? '';
  return new Sandbox({
    settings,
    clock,
    logger,
    paths: {
      home: os.homedir(),
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
