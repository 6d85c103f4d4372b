import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { logs, ranTo } from '../../../support/processes/work.ts';
import { withRuntime } from '../../../support/runtime.ts';
import { hasSandbox, required } from '../../../support/sandbox/available.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { openSession } from '../../../support/turns.ts';

describe.skipIf(!hasSandbox)('a sandbox that stops to work', () => {
  test('The server finds a new level after bubblewrap has failed, and refuses the next process with the reason.', async () => {
    await using directory = tempDirectory('programs');
    const at = (name: string) => path.join(directory.path, name);
    for (const name of ['bin', 'root']) fs.mkdirSync(at(name));
    const real = execFileSync('which', ['bwrap'], { encoding: 'utf8' }).trim();
    const wrapper = `#!/bin/sh\n[ ! -e ${at('broken')} ] || { echo 'bwrap: the settings have changed' >&2; exit 1; }\nexec ${real} "$@"\n`;
    fs.writeFileSync(at('bin/bwrap'), wrapper, { mode: 0o755 });
    const before = process.env.PATH;
    process.env.PATH = `${at('bin')}:${before}`;
    let later = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + later };
    const options = { providers: [scriptedProvider()], config: required(), clock };
    await withRuntime(async (runtime) => {
      const { client } = runtime;
      const session_id = (await openSession(client, at('root'))).id;
      const level = async () => (await client.call(endpoints.getHealth, {})).sandbox;
      expect(await ranTo(runtime, 'true', { session_id })).toMatchObject({ exit_code: 0 });

      // A command that only prints the same words changes nothing.
      later += 60_000;
      await ranTo(runtime, 'echo bwrap: no >&2; exit 1', { session_id });
      // The next process waits for the new probe.
      expect(await ranTo(runtime, 'true', { session_id })).toMatchObject({ exit_code: 0 });
      expect(await level()).toMatchObject({ level: 'full' });

      fs.writeFileSync(at('broken'), '');
      later += 60_000;
      const failed = await ranTo(runtime, 'true', { session_id });
      expect(failed).toMatchObject({ status: 'failed', exit_code: 1, sandbox: true });
      expect((await logs(runtime, failed)).stderr?.content).toMatch(/^bwrap: /);
      await expectEventually(level).toMatchObject({
        level: 'none',
        detail: expect.stringContaining('bubblewrap failed: bwrap: the settings have changed'),
      });
      await expect(ranTo(runtime, 'true', { session_id })).rejects.toMatchObject({
        code: 'sandbox_unavailable',
        message: expect.stringContaining('the settings have changed'),
      });
    }, options).finally(() => (process.env.PATH = before));
  });
});
