import { describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { withServer } from '../support/server.ts';
import { cadreOn } from './support/cadre.ts';

describe('cadre teams', () => {
  test('makes a team, changes it, and shows what is said in it, by ends of ids.', () =>
    withServer(async (server) => {
      const cadre = cadreOn(server);
      const open = async () => {
        const body = { provider: 'acp' as const, cwd: server.directory };
        return (await server.client.call(endpoints.createSession, { body })).id;
      };
      const [lead, member, third] = [await open(), await open(), await open()];
      const end = (id: string) => id.slice(-8);
      const ok = async (...words: string[]) => {
        const { code, stdout, stderr } = await cadre(['teams', ...words]);
        expect([words, code, stderr]).toEqual([words, 0, '']);
        return stdout;
      };
      const id = (await ok('create', 'shop', '--lead', end(lead), '--member', end(member))).trim();
      expect(id).toMatch(/^team_[0-9a-f]{32}$/);
      const team = end(id);
      expect(await ok('list')).toMatch(new RegExp(`^${team} +${end(lead)} +\\d+s +shop$`, 'm'));
      expect(await ok('add', team, end(third), '--title', 'tester')).toMatch(
        new RegExp(`^${third} +- +tester$`, 'm'),
      );
      expect(await ok('lead', team, end(member))).toMatch(new RegExp(`^${member} +lead`, 'm'));
      expect(await ok('remove', team, end(third))).not.toContain(third);
      expect(await ok('get', team)).toContain('shop');

      const sent = await ok('message', team, end(lead), 'say "hello"', '--priority', 'high');
      const message = /^msg_[0-9a-f]{32}/.exec(sent)?.[0] ?? '';
      await expect
        .poll(async () => ok('deliveries', team))
        .toMatch(new RegExp(`${end(message)} +${end(lead)} +consumed`));
      expect(await ok('view', team)).toMatch(/1 consumed +say "hello"$/m);
      const [delivery] = await server.client.call(endpoints.listDeliveries, {
        params: { team_id: id },
      });
      const late = await cadre(['teams', 'retry', team, end(delivery?.id ?? '')]);
      expect([late.code, late.stderr]).toEqual([7, expect.stringContaining('is tried again')]);
      const gone = await cadre(['teams', 'cancel', team, end(message)]);
      expect(gone.code).toBe(7);
      expect(await ok('interrupt-all', team)).toBe('no member is at a turn\n');

      const spawned = (await ok('spawn', team, 'say "hi"', '--source', end(member))).trim();
      expect(await ok('view', team)).toContain(end(spawned));
      const events = await cadre(['events', 'tail', '--team', team, '--no-follow', '--json']);
      const records = events.stdout.trim().split('\n');
      const kinds = records.map((line) => (JSON.parse(line) as { kind: string }).kind);
      expect(kinds[0]).toBe('team.created');
      expect(kinds).toContain('team.message_created');

      expect(await ok('delete', team)).toBe(`${id} is deleted\n`);
      expect(await ok('list')).not.toContain(team);
      expect(await ok('list', '--all')).toContain('shop (deleted)');
      const refused = await cadre(['teams', 'broadcast', team, 'anyone?', '--json']);
      expect(refused.code).toBe(7);
      expect(JSON.parse(refused.stderr)).toMatchObject({ error: { code: 'team_deleted' } });
    }));

  test('says what it does not know, and where to look.', () =>
    withServer(async (server) => {
      const cadre = cadreOn(server);
      const unknown = await cadre(['teams', 'get', '01234567']);
      expect([unknown.code, unknown.stderr]).toEqual([
        3,
        'cadre: no team ends with "01234567"; see cadre teams list\n',
      ]);
      const both = ['--preset', 'deep', '--model', 'x'];
      const spawn = await cadre(['teams', 'spawn', '01234567', '--source', '01234567', ...both]);
      expect([spawn.code, spawn.stderr]).toEqual([2, expect.stringContaining('not both')]);
    }));
});
