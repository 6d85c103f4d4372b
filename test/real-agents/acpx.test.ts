import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';
import { expect, test } from 'vitest';
import { selfCommand } from '../../src/core/lib/self.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { startServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { codexConfig } from './codex-env.ts';
import { escalated } from './codex-fixture.ts';
import { agentStart } from './install.ts';
import { startModelServer } from './model-server.ts';
import { makePlaces } from './on-server.ts';

const PATIENCE_MS = 60_000;

/** Output and exit code of acpx. */
interface Run {
  stdout: () => string;
  stderr: () => string;
  code: Promise<number | null>;
}

/** acpx, with cadre as its agent. */
class Acpx {
  readonly work: string;
  readonly #directory: string;

  constructor(directory: string, work: string) {
    this.#directory = directory;
    this.work = work;
  }

  /** The words that start cadre as an agent. */
  get agent(): string[] {
    const { file, args } = selfCommand();
    return [file, ...args, '--data-dir', this.#directory, 'acp', '--provider', 'codex'];
  }

  get env(): Record<string, string> {
    const { PATH = '', TMPDIR = '/tmp' } = process.env;
    return { PATH, TMPDIR, HOME: this.#directory };
  }

  start(...words: string[]): Run {
    const { command, args } = agentStart('acpx');
    const child = spawn(command, [...args, '--agent', this.agent.join(' '), ...words], {
      cwd: this.work,
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const code = once(child, 'close').then(([status]) => status as number | null);
    return { stdout: () => stdout, stderr: () => stderr, code };
  }

  async run(...words: string[]): Promise<string> {
    const ran = this.start(...words);
    const code = await ran.code;
    if (code !== 0) throw new Error(`acpx ended with ${code}: ${ran.stdout()}${ran.stderr()}`);
    return ran.stdout();
  }
}

test('The client acpx runs turns of Codex through cadre acp, decides permissions, cancels, and continues after a SIGKILL of the server.', async () => {
  await using model = await startModelServer();
  await using directory = tempDirectory('acpx');
  const places = makePlaces(directory.path);
  const config = codexConfig({ home: places.home, modelUrl: model.url, asks: true });
  let server = await startServer(places.server, { config });
  const acpx = new Acpx(places.server, places.work);
  try {
    const id = (await acpx.run('--format', 'quiet', 'sessions', 'new')).trim();
    expect(id).toMatch(/^sess_/);
    expect(await acpx.run('@@say:the first words')).toMatch(/the first words[^]*\[done\] end_turn/);

    const allowed = await acpx.run('--approve-all', escalated('touch allowed'));
    expect(allowed).toMatch(/\[tool\] .*touch allowed.*completed/);
    expect(existsSync(join(acpx.work, 'allowed'))).toBe(true);
    const denied = await acpx.run('--deny-all', escalated('touch denied'));
    expect(denied).toMatch(/\[tool\] .*touch denied.*failed/);
    expect(existsSync(join(acpx.work, 'denied'))).toBe(false);

    const long = acpx.start('@@slow:3000:40');
    await expectEventually(() => long.stdout(), PATIENCE_MS).toContain('c3 ');
    expect(await acpx.run('cancel')).toContain('cancel requested');
    expect(await long.code).toBe(0);
    expect(long.stdout()).toContain('[done] cancelled');

    const cut = acpx.start('@@slow:3000:41');
    await expectEventually(() => cut.stdout(), PATIENCE_MS).toContain('c3 ');
    await server.end('SIGKILL');
    server = await startServer(places.server, { config });
    expect(await cut.code).toBe(1);
    expect(cut.stdout() + cut.stderr()).toContain(
      'the server died while an agent was running this turn',
    );
    expect(await acpx.run('@@say:still here')).toContain('still here');

    const history = await loaded(acpx, id);
    for (const text of [
      'the first words',
      'touch allowed',
      'touch denied',
      'interrupted',
      'still here',
    ])
      expect(history).toContain(text);
    await acpx.run('sessions', 'close');
    // The session continues without the client.
    expect(await acpx.run('sessions', 'list')).toContain(id);
  } finally {
    // It keeps a process of its own for a session.
    await acpx.start('sessions', 'close').code;
    await server.end('SIGTERM');
    await untilNothingCarries(directory.path);
  }
});

/** The updates of cadre for a loaded session. acpx itself resumes sessions, which sends no updates. */
async function loaded(
  { agent: [file = '', ...args], env, work }: Acpx,
  id: string,
): Promise<string> {
  const child = spawn(file, args, { env, cwd: work, stdio: ['pipe', 'pipe', 'inherit'] });
  const updates: unknown[] = [];
  const streams = ndJsonStream(
    Writable.toWeb(child.stdin),
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  );
  const { agent } = client({ name: 'loader' })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params))
    .connect(streams);
  await agent.request(methods.agent.initialize, { protocolVersion: 1 });
  const { load } = methods.agent.session;
  await agent.request(load, { sessionId: id, cwd: work, mcpServers: [] });
  child.stdin.end();
  const [code] = (await once(child, 'exit')) as [number];
  expect(code).toBe(0);
  return JSON.stringify(updates);
}
