import { RequestError } from '@agentclientprotocol/sdk/unstable';
import type { Step } from './step.ts';

const internalError = -32_603;

export const fail: Step<'fail'> = ({ text }) => {
  throw new RequestError(internalError, text);
};

/** A usage limit, said as the ACP agent for claude does. A session meets it once: what comes after it is then done. */
export const limit: Step<'limit'> = async ({ ms }, turn) => {
  const { session } = turn;
  if (session.hasMetLimit) return;
  session.hasMetLimit = true;
  // The agent stands for a foreign program, which has a clock of its own.
  // oxlint-disable-next-line eslint/no-restricted-properties
  const resetsAt = Math.ceil((Date.now() + ms) / 1000);
  const told = { status: 'rejected', resetsAt, rateLimitType: 'five_hour' };
  const { tokens: used } = session.history;
  const _meta = { '_claude/rateLimit': told };
  await turn.update({ sessionUpdate: 'usage_update', used, size: 200_000, _meta });
  throw new RequestError(internalError, "You've hit your usage limit", { errorKind: 'rate_limit' });
};

export const crash: Step<'crash'> = ({ code }, turn) => turn.world.exit(code);

export const garbage: Step<'garbage'> = (_command, turn) =>
  turn.world.writeRaw('this line is not JSON\n');

export const spawn: Step<'spawn'> = async ({ ms }, turn) => {
  const pid = await turn.world.startSleeper(ms);
  await turn.say(`spawned ${pid}`);
};
