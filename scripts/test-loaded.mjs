// Runs the tests beside programs that want every core: what passes alone has to pass on a busy machine, too.
//
//   node scripts/test-loaded.mjs [more words for vitest]
import { spawn } from 'node:child_process';

const LOOPS = 8;
const words = ['run', ...process.argv.slice(2)];

const loops = Array.from({ length: LOOPS }, () =>
  // Each ends by itself when this process is gone, whatever ended it.
  spawn(
    'sh',
    [
      '-c',
      `while [ -d /proc/${process.pid} ]; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done`,
    ],
    {
      stdio: 'ignore',
    },
  ),
);
const tests = spawn('vitest', words, { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => void tests.kill(signal));
tests.on('close', (code) => {
  for (const loop of loops) loop.kill('SIGKILL');
  process.exitCode = code ?? 1;
});
