import { usageError } from '../../api/errors.ts';
import { selfCommand } from '../../core/lib/self.ts';
import { lastingFile } from '../service/start.ts';

/**
 * The command of this cadre for a file of another program: absolute, and the same after an upgrade where PATH leads to it.
 * Throws `usage` for one that npx keeps.
 */
export function lastingCommand(env: NodeJS.ProcessEnv): [file: string, ...words: string[]] {
  const { file, args } = selfCommand();
  if ([file, ...args].some((one) => one.includes('/_npx/')))
    throw usageError(
      'npx runs cadre from a temporary cache, which cannot be used for a permanent installation: run npm install --global cadre, then run the installed cadre',
    );
  return [lastingFile(file, env.PATH), ...args];
}
