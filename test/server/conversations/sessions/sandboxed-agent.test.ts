import { once } from 'node:events';
import fs from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Approval } from '../../../../src/api/approvals.ts';
import type { Process } from '../../../../src/api/processes.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import type { decideApproval } from '../../../../src/api/approvals.ts';
import type { BodyInputOf, BodyOf } from '../../../../src/api/endpoint.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { ranTo } from '../../../support/processes/work.ts';
import { withRuntime } from '../../../support/runtime.ts';
import { hasSandbox, required } from '../../../support/sandbox/available.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { ofKind, openSession, runTurn } from '../../../support/turns.ts';
import { git, makeRepository } from '../../../support/worktrees/work.ts';
import type { Client } from '../../../../src/client/client.ts';
import { SHELL_AGENT } from './shell-agent.ts';

interface Harness {
  client: Client;
  /** Runs a command in the agent; resolves with its output, or with the error of the turn. */
  say: (command: string) => Promise<string>;
  root: string;
  directory: string;
  setMode: (mode: string | null) => Promise<void>;
  /** Runs a command as a process of the session, to its end. */
  run: (command: string) => Promise<Process>;
  session: Session;
  url: string;
  /** The port of the base URL in the environment of the agent. */
  modelPort: number;
  /** Resolves with the pending approval of the session, once there is one. */
  asked: () => Promise<Approval>;
  decide: (approval: Approval, body: BodyOf<typeof decideApproval>) => Promise<void>;
}

/** Runs a test with a session whose agent runs in a sandbox. */
async function withHarness(
  sandbox: Record<string, unknown>,
  own: Record<string, unknown>,
  test: (harness: Harness) => Promise<void>,
  chosen?: BodyInputOf<typeof endpoints.createSession>['sandbox'],
): Promise<void> {
  await using program = tempDirectory('agent');
  await using root = tempDirectory('root');
  const file = path.join(program.path, 'agent.mjs');
  fs.writeFileSync(file, SHELL_AGENT);
  const model = net.createServer((socket) =>
    socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\na model'),
  );
  await once(model.listen(0, '127.0.0.1'), 'listening');
  const modelPort = (model.address() as AddressInfo).port;
  const env = { OPENAI_BASE_URL: `http://127.0.0.1:${modelPort}` };
  const config = {
    ...required({ children: ['agents'], ...sandbox }),
    providers: {
      acp: { command: process.execPath, args: [file], sandbox: own, env },
      // Never started: it stands for an agent that accepts images.
      claude: { command: process.execPath },
    },
  };
  await withRuntime(
    async (runtime) => {
      const { client, directory, url } = runtime;
      const session = await openSession(client, root.path, { sandbox: chosen });
      const { id } = session;
      await test({
        client,
        session,
        url,
        modelPort,
        run: (command) => ranTo(runtime, command, { session_id: id }),
        root: root.path,
        directory,
        async say(command) {
          const { turn, events } = await runTurn(client, id, command);
          if (turn.error) return turn.error.message;
          return ofKind(events, 'message.completed')
            .map((one) => one.payload.text)
            .join('');
        },
        async asked() {
          const params = { session_id: id };
          const query = { status: 'pending' as const };
          const pending = () => client.call(endpoints.listSessionApprovals, { params, query });
          await expectEventually(async () => (await pending()).length).toBe(1);
          return (await pending())[0] as Approval;
        },
        async decide(approval, body) {
          const params = { session_id: id, approval_id: approval.id };
          await client.call(endpoints.decideApproval, { params, body });
        },
        async setMode(permission_mode) {
          await client.call(endpoints.updateSession, {
            params: { session_id: id },
            body: { permission_mode },
          });
        },
      });
    },
    { config },
  ).finally(() => model.close());
}

describe.skipIf(!hasSandbox)('an agent in a sandbox', () => {
  test('An agent writes the directory of its session, and sees neither the data directory nor the home directory.', () =>
    withHarness({ network: 'all' }, {}, async ({ say, root, directory }) => {
      const output = await say(`echo new > file; cat ${directory}/auth/token; ls -A ~; echo $HOME`);
      expect(fs.readFileSync(path.join(root, 'file'), 'utf8')).toBe('new\n');
      expect(output).toMatch(/No such file or directory/);
      expect(output).toContain(`${os.homedir()}\n`);
      await say('echo kept > ~/mine');
      expect(await say('cat ~/mine')).toBe('kept\n');
      expect(fs.existsSync(path.join(os.homedir(), 'mine'))).toBe(false);
    }));

  test('An agent with the mode read_only cannot write, and its session continues with write access in another mode.', () =>
    withHarness({ network: 'all' }, {}, async ({ say, root, setMode }) => {
      // The agent offers its modes with the first prompt.
      await say('true');
      await setMode('read_only');
      expect(await say('echo x > file')).toMatch(/Read-only/);
      expect(fs.readdirSync(root)).toEqual([]);
      await setMode(null);
      expect(await say('echo x > file; cat file')).toBe('x\n');
      await setMode('read_only');
      expect(await say('echo y > file')).toMatch(/Read-only/);
    }));

  test('The section of an agent adds paths and a network to its sandbox alone.', async () => {
    await using readable = tempDirectory('readable');
    await using state = tempDirectory('state');
    fs.writeFileSync(path.join(readable.path, 'a'), 'a\n');
    const own = { network: 'all', read: [readable.path], write: [state.path] };
    await withHarness({ network: 'none' }, own, async ({ say }) => {
      expect(await say(`cat ${readable.path}/a; echo x > ${state.path}/b`)).toBe('a\n');
      expect(fs.readdirSync(state.path)).toEqual(['b']);
    });
  });

  test('The section of an agent lets this agent alone create namespaces, unless the server runs as root.', () =>
    withHarness(
      { network: 'all', children: ['agents', 'tools'] },
      { nests: true },
      async (harness) => {
        const said = await harness.say('unshare -Ur echo nested');
        if (os.userInfo().uid === 0) expect(said).toMatch(/sandbox.nests requires a server of/);
        else expect(said).toBe('nested\n');
        expect(await harness.run('unshare -Ur true')).toMatchObject({ status: 'failed' });
      },
    ));

  test('A turn of an agent whose section forbids a network fails, and the error names the key.', () =>
    withHarness({ network: 'all' }, { network: 'none' }, async ({ say }) => {
      expect(await say('true')).toMatch(/providers\.acp\.sandbox\.network is "none"/);
    }));

  test('An agent without a network in the configuration reaches its model and the tools, and no listed host.', () =>
    withHarness({ network: 'none', hosts: ['*'] }, {}, async (harness) => {
      const { client, session, say, url, modelPort } = harness;
      expect(await say('curl -sS http://example.invalid/')).toMatch(/does not reach/);
      const params = { session_id: session.id };
      const { last_turn_id: turn_id } = await client.call(endpoints.getSession, { params });
      const refused = () =>
        client.call(endpoints.replaySessionEvents, { params, query: { kind: ['sandbox.*'] } });
      const payload = { host: 'example.invalid', port: 80, reason: 'not_allowed' };
      await expectEventually(refused).toMatchObject([{ turn_id, payload }]);
      expect(await say(`curl -sS http://127.0.0.1:${new URL(url).port}/health`)).toMatch(/status/);
      expect(await say(`curl -sS http://127.0.0.1:${modelPort}/`)).toBe('a model');
    }));

  test('A session has a sandbox of its own, whatever the configuration says, and its processes share it.', () =>
    withHarness(
      { mode: 'off' },
      {},
      async ({ say, run, directory, session }) => {
        expect(session.sandbox).toMatchObject({ mode: 'require', network: 'hosts', hosts: [] });
        const secret = `${directory}/auth/token`;
        expect(await say(`cat ${secret}; curl -sS http://example.invalid/`)).toMatch(
          /No such file.*does not reach/s,
        );
        expect(await run(`cat ${secret}`)).toMatchObject({ sandbox: true, status: 'failed' });
      },
      { network: 'hosts' },
    ));

  test('A session can switch the sandbox of the configuration off.', () =>
    withHarness(
      { network: 'all' },
      {},
      async ({ say, directory }) => {
        const token = fs.readFileSync(`${directory}/auth/token`, 'utf8');
        expect(await say(`cat ${directory}/auth/token`)).toContain(token);
      },
      { mode: 'off' },
    ));

  test('A person decides about a host that no list names, for one connection or for the session.', () =>
    withHarness({ network: 'ask' }, {}, async ({ say, asked, decide }) => {
      const fetching = say('curl -sS http://example.invalid/');
      const approval = await asked();
      expect(approval).toMatchObject({
        kind: 'tool',
        title: 'reach example.invalid:80 from the sandbox',
        request: { host: 'example.invalid', port: 80 },
        scopes: ['once', 'session'],
      });
      await decide(approval, { decision: 'accept' });
      expect(await fetching).toMatch(/cadre: getaddrinfo/);

      const again = say(
        `curl -sS http://example.invalid/ & curl -sS http://example.invalid/; wait`,
      );
      await decide(await asked(), { decision: 'accept', scope: 'session' });
      expect((await again).match(/getaddrinfo/g)).toHaveLength(2);
      expect(await say('curl -sS http://example.invalid/')).toMatch(/getaddrinfo/);
    }));

  test('A host that a person declines is refused, and no further attempt asks again.', () =>
    withHarness({ network: 'ask' }, {}, async ({ say, asked, decide }) => {
      const fetching = say('curl -sS http://example.invalid/; curl -sS http://example.invalid/');
      await decide(await asked(), { decision: 'decline' });
      expect((await fetching).match(/does not reach example.invalid:80/g)).toHaveLength(2);
    }));

  test('An agent cannot send a member an image that its sandbox hides, and a path in /tmp is a file of its session.', () =>
    withHarness({ network: 'all' }, {}, async (harness) => {
      const { client, session, root, directory, say, asked, decide } = harness;
      const secret = path.join(directory, 'secret.gif');
      fs.writeFileSync(secret, 'GIF89a');
      fs.symlinkSync(secret, path.join(root, 'link.gif'));
      const other = await openSession(client, root, { provider: 'claude' });
      const { team } = await client.call(endpoints.createTeam, {
        body: { name: 'a team', lead_agent_id: session.id, member_agent_ids: [other.id] },
      });
      const sendImage = (image: string) => {
        const args = {
          team_id: team.id,
          recipient_agent_id: other.id,
          message: 'look',
          image_paths: [image],
        };
        const call = { tool_name: 'cadre_team_message', caller_agent_id: session.id, args };
        return say(
          `curl -sS -H "Authorization: Bearer $CADRE_GATEWAY_TOKEN" -H 'Content-Type: application/json' -d '${JSON.stringify(call)}' $CADRE_GATEWAY_URL/v1/mcp/invoke`,
        );
      };
      for (const image of [secret, 'link.gif', `${root}/../secret.gif`])
        expect(await sendImage(image)).toMatch(/does not show this file/);
      await say('printf GIF89a > /tmp/shot.gif');
      const sending = sendImage('/tmp/shot.gif');
      const approval = await asked();
      expect(approval.title).toContain(`sandbox/${session.id}/tmp/shot.gif`);
      await decide(approval, { decision: 'decline' });
      expect(await sending).toMatch(/"ok":false/);
    }));

  test('A notice names the branches and tags that have moved during a turn in a worktree, and no branch of a worktree.', async () => {
    await using main = tempDirectory('main');
    const repository = makeRepository(path.join(main.path, 'repository'));
    for (const name of ['other', 'elsewhere']) git(repository, 'branch', name);
    git(repository, 'tag', 'v1');
    git(repository, 'worktree', 'add', '-q', path.join(main.path, 'elsewhere'), 'elsewhere');
    await withHarness({ network: 'all' }, {}, async ({ client, session, root, say }) => {
      git(repository, 'worktree', 'add', '-q', '-b', 'mine', root);
      const notices = async () => {
        const params = { session_id: session.id };
        const query = { kind: ['session.notice'] };
        const found = await client.call(endpoints.replaySessionEvents, { params, query });
        return found.filter(
          ({ payload }) => 'code' in payload && payload.code === 'branches_moved',
        );
      };
      const identity = '-c user.name=a -c user.email=b';
      await say(`git ${identity} commit -q --allow-empty -m one; git branch fresh`);
      const moves = [
        'git branch -f other',
        'git update-ref refs/heads/main HEAD',
        'git update-ref refs/heads/elsewhere HEAD',
        'rm "$(git rev-parse --git-common-dir)/refs/tags/v1"',
      ];
      await say(moves.join('; '));
      await expectEventually(notices).toHaveLength(1);
      await say('git switch -q fresh');
      const [notice, ...more] = await notices();
      expect(more).toEqual([]);
      const moved = (name: string) => `${name} \\([0-9a-f]{8} to [0-9a-f]{8}\\)`;
      const names = `moved ${moved('main')}, ${moved('other')}, v1 \\([0-9a-f]{8} to nothing\\)$`;
      expect(notice?.payload).toMatchObject({
        message: expect.stringMatching(new RegExp(names)) as string,
      });
    });
  });

  test('Nobody is asked about a host in the mode read_only, and a request is withdrawn if the program gives up.', () =>
    withHarness({ network: 'ask' }, {}, async ({ say, setMode, asked }) => {
      const fetching = say('curl -sS -m 1 http://example.invalid/; echo ended');
      const { title } = await asked();
      expect(title).toContain('example.invalid');
      expect(await fetching).toMatch(/timed out|ended/);
      await setMode('read_only');
      expect(await say('curl -sS http://example.invalid/')).toMatch(/does not reach/);
    }));
});
