import type { Step } from './step.ts';

export const usage: Step<'usage'> = async ({ used, size }, turn) => {
  turn.usage = { used, size };
  await turn.update({ sessionUpdate: 'usage_update', used, size });
};

export const image: Step<'image'> = (_command, turn) => {
  const { images } = turn.prompt;
  const each = images.map(({ mimeType, bytes }) => ` (${mimeType}, ${bytes} bytes)`);
  return turn.say(`images: ${images.length}${each.join('')}`);
};

/** Reports the turns before this one. */
export const history: Step<'history'> = (_command, turn) => {
  const { turnCount, turns } = turn.session.history;
  const before = turns.at(-2);
  const last = before ? `; last prompt: ${before.prompt}` : '';
  return turn.say(`earlier turns: ${turnCount - 1}${last}`);
};

export const env: Step<'env'> = ({ variable }, turn) =>
  turn.say(turn.world.env[variable] ?? '(unset)');

export const pid: Step<'pid'> = (_command, turn) => turn.say(String(turn.world.pid));

/** Reports the working directory of the session, which can differ from that of the process. */
export const cwd: Step<'cwd'> = (_command, turn) => turn.say(turn.session.history.cwd);

export const mode: Step<'mode'> = (_command, turn) => turn.say(turn.session.history.mode);
