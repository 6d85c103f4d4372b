import type { StopReason } from '@agentclientprotocol/sdk/unstable';
import type { CommandName, CommandNamed } from '../commands.ts';
import type { Turn } from '../turn.ts';

/** Executes one command. A stop reason ends the turn, even if commands are left. */
export type Step<Name extends CommandName> = (
  command: CommandNamed<Name>,
  turn: Turn,
) => Promise<StopReason | void> | StopReason | void;
