import { RequestError } from '@agentclientprotocol/sdk/unstable';
import type { Step } from './step.ts';

const internalError = -32_603;

export const fail: Step<'fail'> = ({ text }) => {
  throw new RequestError(internalError, text);
};

export const crash: Step<'crash'> = ({ code }, turn) => turn.world.exit(code);

export const garbage: Step<'garbage'> = (_command, turn) =>
  turn.world.writeRaw('this line is not JSON\n');

export const spawn: Step<'spawn'> = async ({ ms }, turn) => {
  const pid = await turn.world.startSleeper(ms);
  await turn.say(`spawned ${pid}`);
};
