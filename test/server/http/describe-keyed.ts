import { describe, expect, it } from 'vitest';
import type { FailpointName } from '../../../src/core/lib/failpoint.ts';
import { completed } from '../../support/scripted-provider.ts';
import { FullDisk } from '../../support/sessions/faults.ts';
import { aRequestTo, replayed, withKey } from './keyed-requests.ts';
import { kinds, withHarness, sharedHarness } from '../../support/sessions/harness.ts';

/** Reports whether a route starts a turn, which has to end before the test waits for the next one. */
const beginsATurn = (route: string) => /\/(turns|review\/send|handoff)$/.test(route);

/** Describes the effect of an Idempotency-Key on each route. */
export function describeKeyed(routes: readonly string[]): void {
  // Teams act after the response. Their routes have a separate harness, where only events of teams count.
  const groups = [
    {
      what: 'of teams',
      routes: routes.filter((route) => route.startsWith('/v1/teams')),
      later: /^(?!team\.)/,
    },
    {
      what: 'of all else',
      routes: routes.filter((route) => !route.startsWith('/v1/teams')),
      later:
        /^(turn\.completed|session\.notice|process\.(?!queued|kill_requested)|race\.(?!started|kept))/,
    },
  ];

  describe.for(groups)('requests $what with an Idempotency-Key', ({ routes: own, later }) => {
    const on = sharedHarness();
    let keys = 0;
    const newKey = () => withKey(`key-${++keys}`);
    // Only the events that a request causes at once: the times of later events vary.
    const asked = async () => (await on().events()).filter(({ kind }) => !later.test(kind));

    it.each(own)(
      '%s replays the stored response, and refuses the key for other requests.',
      async (route) => {
        const request = await aRequestTo(route, on());
        // A request with the same body to another resource.
        const twin = await aRequestTo(route, on());
        const key = newKey();
        const first = await on().post(request.path, request.body, key);
        expect(first.status).toBeLessThan(300);
        expect(replayed(first)).toBeNull();
        if (beginsATurn(route)) (await on().provider.nextTurn()).end(completed);
        const count = (await asked()).length;
        const expectStored = async () => {
          const again = await on().post(request.path, request.body, key);
          expect([again.status, again.body]).toEqual([first.status, first.body]);
          expect(replayed(again)).toBe('true');
        };
        await expectStored();
        const others = [on().post('/v1/sessions', { provider: 'acp', title: 'another' }, key)];
        if (request.otherBody) others.push(on().post(request.path, request.otherBody, key));
        if (twin.path !== request.path) others.push(on().post(twin.path, request.body, key));
        for (const { status, body } of await Promise.all(others))
          expect([status, body.code]).toEqual([409, 'idempotency_conflict']);
        // A conflict does not replace the stored response.
        await expectStored();
        expect(await asked()).toHaveLength(count);
      },
    );
  });

  describe('the transaction of a keyed request', () => {
    const tellTale =
      /^(session|goal|watch|queue|review|budget|turn|approval|team|delivery|worktree|race|hook)\.|^process\.(queued|kill_requested)/;
    // The excluded routes store nothing: a dry run, a look, a test, a pull request, the input of a process.
    const changing = routes.filter(
      (route) =>
        !/worktrees\/gc$|pull-request$|worktree-trust\/look$|(?:approval-rules|hooks\/\{hook_name\})\/test$|stdin$/.test(
          route,
        ),
    );
    // A request of several transactions stores its response with the last one.
    const inOne = routes.filter(
      (route) => !/worktrees$|release$|cleanup$|restore$|merge$|rebase$|keep$/.test(route),
    );

    it.each(changing)(
      '%s stores neither effect nor response if the store refuses.',
      async (route) => {
        using disk = new FullDisk();
        await withHarness(async (harness) => {
          const request = await aRequestTo(route, harness);
          // Trust in content and approval rules have rows, but no events.
          const effects = async () => [
            kinds(await harness.events()).filter((kind) => tellTale.test(kind)).length,
            (await harness.get<object[]>('/v1/worktree-trust')).body.length,
            (await harness.get<object[]>('/v1/approval-rules')).body.length,
          ];
          const before = await effects();
          disk.full = true;
          const refused = await harness.post(request.path, request.body, withKey('k'));
          expect([refused.status, refused.body.code]).toEqual([500, 'storage_full']);
          expect(await effects()).toEqual(before);
          disk.full = false;
          const now = await harness.post(request.path, request.body, withKey('k'));
          expect([now.status < 300, replayed(now)]).toEqual([true, null]);
          expect(await effects()).not.toEqual(before);
          expect(replayed(await harness.post(request.path, request.body, withKey('k')))).toBe(
            'true',
          );
        });
      },
    );

    it.each(inOne)('%s stores effect and response in one transaction.', async (route) => {
      let commits = Infinity;
      const failpoint = (name: FailpointName) => {
        if (name === 'commit.before' && --commits < 0) throw new Error('no second transaction');
      };
      await withHarness(
        async (harness) => {
          const request = await aRequestTo(route, harness);
          commits = 1;
          const first = await harness.post(request.path, request.body, withKey('k'));
          commits = Infinity;
          expect(first.status).toBeLessThan(300);
          const again = await harness.post(request.path, request.body, withKey('k'));
          expect([again.body, replayed(again)]).toEqual([first.body, 'true']);
        },
        { failpoint },
      );
    });
  });
}
