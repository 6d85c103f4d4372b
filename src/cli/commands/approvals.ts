import { type Command, Option } from 'commander';
import type { Approval } from '../../api/approvals.ts';
import { endpoints } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { assertLongEnough, idArgument, onlyOne, pagesOf, sessionId } from '../find.ts';
import { ago, details, shortId, table } from '../output.ts';
import { clientAction, type World } from '../world.ts';

const statuses = ['pending', 'accepted', 'declined', 'expired', 'cancelled'] as const;
const approvalArgument = idArgument('approval');

/** `cadre approvals …`: one inbox over all sessions. */
export function approvalCommands(program: Command, world: World): void {
  const approvals = program
    .command('approvals')
    .description('what agents ask for, over all sessions');

  approvals
    .command('list')
    .description('list approvals, newest first')
    .addOption(new Option('--status <status>').choices(statuses).default('pending'))
    .option('--session <session>', 'only of this session')
    .action(
      clientAction(
        world,
        async ({ client, show }, options: { status: Approval['status']; session?: string }) => {
          const session_id =
            options.session === undefined ? undefined : await sessionId(client, options.session);
          const found = await client.call(endpoints.listApprovals, {
            query: { status: options.status, session_id },
          });
          const now = world.clock.now();
          const rows = found.map((one) => [
            shortId(one.id),
            shortId(one.session_id),
            one.kind,
            one.status,
            ago(one.created_at, now),
            one.title,
          ]);
          show(found, () => table(['ID', 'SESSION', 'KIND', 'STATUS', 'AGE', 'TITLE'], rows));
        },
      ),
    );

  approvals
    .command('show')
    .description('show an approval with all that was asked')
    .argument(...approvalArgument)
    .action(
      clientAction(world, async ({ client, show }, id: string) => {
        const approval = await findApproval(client, id);
        show(approval, () => details(approval));
      }),
    );

  for (const decision of ['accept', 'decline'] as const) {
    approvals
      .command(decision)
      .description(decision === 'accept' ? 'allow it, for this once' : 'refuse it')
      .argument(...approvalArgument)
      .option('--reason <text>', 'why, for the agent and the record')
      .action(
        clientAction(
          world,
          async ({ client, show }, id: string, { reason }: { reason?: string }) => {
            const { session_id, id: approval_id } = await findApproval(client, id);
            const params = { session_id, approval_id };
            const decided = await client.call(endpoints.decideApproval, {
              params,
              body: { decision, reason },
            });
            show(decided, () => `${decided.status}: ${decided.title}\n`);
          },
        ),
      );
  }
}

/** An approval by the end of its id: looked for among the pending ones first. */
async function findApproval(client: Client, end: string): Promise<Approval> {
  assertLongEnough(end);
  const found: Approval[] = [];
  for (const status of statuses) {
    const pages = pagesOf((query) =>
      client.ask(endpoints.listApprovals, { query: { ...query, status } }),
    );
    for await (const page of pages) found.push(...page.filter(({ id }) => id.endsWith(end)));
    if (found.length > 0) break;
  }
  return onlyOne(found, end, 'approval', ({ id }) => id);
}
