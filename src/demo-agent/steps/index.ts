import type { StopReason } from '@agentclientprotocol/sdk/unstable';
import type { Command, CommandName } from '../commands.ts';
import type { Turn } from '../turn.ts';
import { cwd, env, history, image, mode, pid, usage } from './facts.ts';
import { crash, fail, garbage, spawn } from './faults.ts';
import { ignoreCancel, late, silent, wait } from './flow.ts';
import { flood, longline, repeat, say, think } from './speech.ts';
import type { Step } from './step.ts';
import { ask, plan, tool } from './tools.ts';

// Written out, so that a command without a step does not compile.
const steps: { readonly [Name in CommandName]: Step<Name> } = {
  say,
  think,
  repeat,
  flood,
  longline,
  late,
  tool,
  ask,
  plan,
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
  crash,
  garbage,
  spawn,
};

/** Does what the command says. A stop reason ends the turn. */
export async function runStep(command: Command, turn: Turn): Promise<StopReason | void> {
  // The table ties each step to its command; looking one up by a variable loses that.
  const step = steps[command.name] as Step<CommandName>;
  return step(command, turn);
}
