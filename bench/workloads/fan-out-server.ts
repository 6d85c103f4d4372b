import { openRuntime } from '../../test/support/runtime.ts';
import { sharedNow } from '../baselines/bare-fan-out.ts';

/** `fan-out-server.ts DIRECTORY`: a runtime that records when each commit has reached the disk. */
let moments: number[] = [];
const { runtime, url, token } = await openRuntime(process.argv[2] ?? '', {
  config: { providers: { acp: { command: process.execPath } } },
  failpoint(name) {
    if (name === 'sync.after') moments.push(sharedNow());
  },
});
process.on('message', () => {
  process.send?.(moments);
  moments = [];
});
process.once('disconnect', () => void runtime.stop());
process.send?.({ url, token });
