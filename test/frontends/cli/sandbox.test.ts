import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { freePort } from '../../support/free-port.ts';
import { hasSandbox } from '../../support/sandbox/available.ts';
import { testServer } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';

describe.skipIf(!hasSandbox)('a session in a sandbox', () => {
  test('The command sessions show names a refused host, and the command processes run publishes ports.', async () => {
    await using root = tempDirectory('root');
    const env = { CADRE_SANDBOX_MODE: 'require', CADRE_SANDBOX_NETWORK: 'hosts' };
    const server = await testServer({ env });
    const cadre = cadreOn(server);
    expect(await cadre(['run', '--cwd', root.path, 'say hi'])).toMatchObject({
      code: 0,
      stdout: 'hi\n',
    });
    const [session] = await server.client.call(endpoints.listSessions, {});
    const id = session?.id ?? '';
    const command = 'curl -sS http://example.invalid/';
    await cadre(['processes', 'run', '--wait', '--session', id, command]);
    const show = async () => (await cadre(['sessions', 'show', id])).stdout;
    await expectEventually(show).toContain(
      '! host_refused: the sandbox does not reach example.invalid:80: add the host to sandbox.hosts',
    );
    const published = [await freePort(), await freePort()];
    const ports = published.flatMap((port) => ['--port', String(port)]);
    const ran = await cadre(['processes', 'run', '--json', '--session', id, ...ports, 'true']);
    expect(JSON.parse(ran.stdout)).toMatchObject({ ports: published, sandbox: true });
    const refused = await cadre(['processes', 'run', '--session', id, '--port', '70000', 'true']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
  });

  test('The demo agent runs a turn in a sandbox, and continues its session after a restart of the server.', async () => {
    await using root = tempDirectory('root');
    const env = { CADRE_SANDBOX_MODE: 'require', CADRE_SANDBOX_CHILDREN: 'agents' };
    const before = await testServer({ env });
    const first = await cadreOn(before)(['run', '--cwd', root.path, 'pid']);
    expect(first.code).toBe(0);
    // The first processes of a process namespace are bubblewrap and the agent.
    expect(Number(first.stdout)).toBeLessThan(10);
    const [session] = await before.client.call(endpoints.listSessions, {});
    await before.end('SIGTERM');
    const after = await testServer({ env, directory: before.directory });
    const second = await cadreOn(after)(['run', '--session', session?.id ?? '', 'history']);
    expect(second).toMatchObject({ code: 0, stdout: 'earlier turns: 1; last prompt: pid\n' });
  });
});
