import { describe, expect, test } from 'vitest';
import type { Approval } from '../../src/api/approvals.ts';
import type { ApprovalLink } from '../../src/api/hooks.ts';
import { browserProgram, openPhone, PHONE, type PhonePage } from './chromium.ts';
import { withHarness, type Harness } from '../support/sessions/harness.ts';

const diff = [
  '--- a/src/login.ts',
  '+++ b/src/login.ts',
  '@@ -1,2 +1,2 @@',
  '-export const limit = 3;',
  `+export const limit = ${'9'.repeat(200)};`,
  ' // the end',
].join('\n');

/** Lets an agent ask for a request, and opens its link on a phone. */
async function onPhone(
  request: object,
  look: (phone: PhonePage, asked: { harness: Harness; approval: Approval }) => Promise<void>,
): Promise<void> {
  await withHarness(async (harness) => {
    const { session, turn } = await harness.atWork();
    const answer = turn.ask(request);
    const approval = await harness.asked(session.id);
    const link = `/v1/sessions/${session.id}/approvals/${approval.id}/link`;
    const { body } = await harness.post<ApprovalLink>(link, {});
    await using phone = await openPhone();
    await phone.open(body.url);
    await look(phone, { harness, approval });
    await answer;
  });
}

async function statusOf(harness: Harness, { session_id, id }: Approval): Promise<string> {
  const { body } = await harness.get<Approval>(`/v1/sessions/${session_id}/approvals/${id}`);
  return body.status;
}

describe.skipIf(browserProgram === null)('approval links in a browser on a phone', () => {
  test('The page of an approval link shows the whole change, fits the width, has buttons for a thumb, and accepts with one tap.', () =>
    onPhone(
      { title: 'edit', details: [{ type: 'diff', path: 'src/login.ts', diff }] },
      async (phone, { harness, approval }) => {
        const text = await phone.text();
        for (const line of diff.split('\n'))
          expect(text.replaceAll('\n', '')).toContain(line.trim());
        expect(await phone.contentWidth()).toBe(PHONE.width);
        for (const button of ['.accept', '.decline']) {
          const { width, height } = await phone.boxOf(button);
          expect([width >= 140, height >= 48]).toEqual([true, true]);
        }
        await phone.tap('.accept');
        expect(await phone.text()).toContain('Accepted');
        expect(await statusOf(harness, approval)).toBe('accepted');
      },
    ));

  test('The page of an approval link declines with one tap, and a second use of the link is not valid.', () =>
    onPhone(
      { title: 'rm -rf build', details: [{ type: 'command', command: 'rm -rf build', cwd: '/w' }] },
      async (phone, { harness, approval }) => {
        expect((await phone.text()).match(/rm -rf build/g)).toHaveLength(1);
        await phone.tap('.decline');
        expect(await phone.text()).toContain('Declined');
        expect(await statusOf(harness, approval)).toBe('declined');
      },
    ));

  test('The page of an approval link is dark if the phone prefers dark pages, and light if it prefers light pages.', () =>
    onPhone({ title: 'ls' }, async (phone) => {
      await phone.prefer('light');
      const light = await phone.styleOf('.accent, .faint', 'color');
      await phone.prefer('dark');
      expect(await phone.styleOf('.accent, .faint', 'color')).not.toBe(light);
      await phone.tap('.decline');
    }));
});
