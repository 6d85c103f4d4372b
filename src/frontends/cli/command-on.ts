import { shellWord } from '../../core/lib/shell-word.ts';

/** The command line of a command of cadre for the server of the same data directory, for advice in texts. */
export function commandOn(command: string, { dataDir }: { dataDir?: string | undefined }): string {
  const option = dataDir === undefined ? '' : ` --data-dir ${shellWord(dataDir)}`;
  return `cadre ${command}${option}`;
}
