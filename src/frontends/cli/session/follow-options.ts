import { milliseconds } from '../option-values.ts';
import type { CommandIo } from '../command-io.ts';

export interface FollowOptions {
  verbose?: boolean;
  /** In ms. */
  reconnect?: number;
}

/** Without a terminal, a command ends when its server has been gone for so long. */
const RECONNECT_MS = 60_000;

/** The option for how long a server that is gone is looked for. */
export const reconnectOption = {
  line: '--reconnect <duration>  Maximum time to keep trying to reconnect to the server (default: 60s, or no limit on a terminal)',
  parse: milliseconds,
};

export const followOptions = [
  reconnectOption,
  '-v, --verbose  Also show the thoughts, plans and tool output of the agent',
];

/** For how long a lost connection is opened again, in ms; undefined: for ever, because a user sees it at a terminal. */
export function reconnectMs(
  { reconnect }: Pick<FollowOptions, 'reconnect'>,
  { stderr }: CommandIo,
): number | undefined {
  return reconnect ?? (stderr.isTTY ? undefined : RECONNECT_MS);
}
