import type { StopReason } from '@agentclientprotocol/sdk/unstable';
import type { Command, CommandName } from '../commands.ts';
import type { Turn } from '../turn.ts';
import { cwd, env, history, image, mode, pid, usage } from './facts.ts';
import { crash, fail, garbage, limit, spawn } from './faults.ts';
import { ignoreCancel, late, silent, wait } from './flow.ts';
import { flood, longline, repeat, say, think } from './speech.ts';
import type { Step } from './step.ts';
import { ask, askAll, edit } from './asking.ts';
import { question } from './question.ts';
import { commands, notice, title } from './session-info.ts';
import { plan, tool } from './tools.ts';

// The type lists every command, so that a command without a step does not compile.
const steps: { readonly [Name in CommandName]: Step<Name> } = {
  say,
  think,
  repeat,
  flood,
  longline,
  late,
  tool,
  ask,
  'ask-all': askAll,
  edit,
  question,
  plan,
  title,
  notice,
  commands,
  usage,
  image,
  history,
  env,
  pid,
  cwd,
  mode,
  wait,
  silent,
  'ignore-cancel': ignoreCancel,
  fail,
  limit,
  crash,
  garbage,
  spawn,
};

/** Executes one command. A stop reason ends the turn. */
export async function runStep(command: Command, turn: Turn): Promise<StopReason | void> {
  // The type of the table binds each step to its command; a lookup by a variable loses that.
  const step = steps[command.name] as Step<CommandName>;
  return step(command, turn);
}
