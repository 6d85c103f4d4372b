import type { Config } from '../../core/config/schema.ts';
import { definitionsOf } from './definition.ts';
import { readSecret } from './signature.ts';

/** Returns the problems of the hooks of a configuration, with unreadable secrets: one sentence for each. */
export function hookProblems(config: Pick<Config, 'hooks' | 'approvals'>): string[] {
  return definitionsOf(config)
    .filter(({ enabled }) => enabled)
    .flatMap(({ name, problem, target }) => {
      const found = [problem, 'url' in target ? objectionToSecret(target.secretFile) : null];
      return found.flatMap((one) => (one === null ? [] : [`hook "${name}": ${one}`]));
    });
}

function objectionToSecret(file: string): string | null {
  try {
    readSecret(file);
    return null;
  } catch (error) {
    return `secret_file: ${(error as Error).message}`;
  }
}
