import path from 'node:path';
import { type Command, Option } from 'commander';
import { endpoints } from '../../api/index.ts';
import { type ProviderId, providerId } from '../../api/provider-kinds.ts';
import type { Member } from '../../api/teams.ts';
import { AppError } from '../../errors.ts';
import { sessionArgument, sessionId, teamArgument, teamId } from '../find.ts';
import { ago, details, shortId, table } from '../output.ts';
import { parseMetadata } from '../metadata.ts';
import { readPrompt } from '../prompt.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';
import { teamMessageCommands } from './team-messages.ts';

/** `cadre teams …`. */
export function teamCommands(program: Command, world: World): void {
  const teams = program
    .command('teams')
    .description('sessions that work together, and what they say to each other');

  teams
    .command('list')
    .description('list teams, newest first')
    .option('--limit <n>', 'how many at most', Number, 100)
    .option('--all', 'deleted ones too')
    .action(
      clientAction(
        world,
        async ({ client, show }, { limit, all }: { limit: number; all?: boolean }) => {
          const given = await client.call(endpoints.listTeams, { query: { limit } });
          const found = given.filter(({ deleted_at }) => all || deleted_at === null);
          const now = world.clock.now();
          const rows = found.map((one) => [
            shortId(one.id),
            shortId(one.lead_agent_id),
            ago(one.created_at, now),
            one.deleted_at === null ? one.name : `${one.name} (deleted)`,
          ]);
          show(found, () => table(['ID', 'LEAD', 'AGE', 'NAME'], rows));
        },
      ),
    );

  teams
    .command('get')
    .description('show a team and its members')
    .argument(...teamArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string) => {
        const params = { team_id: await teamId(client, end) };
        const found = await client.call(endpoints.getTeam, { params });
        show(found, () => `${details(found.team)}\n${memberTable(found.members, found.team)}`);
      }),
    );

  teams
    .command('create')
    .description('make a team of sessions')
    .argument('<name>', 'what people call it')
    .requiredOption('--lead <session>', 'who leads it')
    .option('--member <session...>', 'who else is in it')
    .action(
      clientAction(
        world,
        async ({ client, show }, name: string, options: { lead: string; member?: string[] }) => {
          const member_agent_ids = [];
          for (const end of options.member ?? [])
            member_agent_ids.push(await sessionId(client, end));
          const lead_agent_id = await sessionId(client, options.lead);
          const body = { name, lead_agent_id, member_agent_ids };
          const made = await client.call(endpoints.createTeam, { body });
          show(made, () => `${made.team.id}\n`);
        },
      ),
    );

  teams
    .command('delete')
    .description('delete a team; its sessions go on')
    .argument(...teamArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string) => {
        const params = { team_id: await teamId(client, end) };
        await client.call(endpoints.deleteTeam, { params });
        show(params, () => `${params.team_id} is deleted\n`);
      }),
    );

  teams
    .command('add')
    .description('add a session to a team')
    .argument(...teamArgument)
    .argument(...sessionArgument)
    .option('--title <title>', 'what it is there for')
    .action(
      clientAction(
        world,
        async ({ client, show }, end: string, session: string, body: { title?: string }) => {
          const params = { team_id: await teamId(client, end) };
          const agent_id = await sessionId(client, session);
          const now = await client.call(endpoints.addMember, {
            params,
            body: { ...body, agent_id },
          });
          show(now, () => memberTable(now.members, now.team));
        },
      ),
    );

  teams
    .command('remove')
    .description('take a session out of a team')
    .argument(...teamArgument)
    .argument(...sessionArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string, session: string) => {
        const params = {
          team_id: await teamId(client, end),
          agent_id: await sessionId(client, session),
        };
        const now = await client.call(endpoints.removeMember, { params });
        show(now, () => memberTable(now.members, now.team));
      }),
    );

  teams
    .command('lead')
    .description('make a member the lead')
    .argument(...teamArgument)
    .argument(...sessionArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string, session: string) => {
        const params = { team_id: await teamId(client, end) };
        const lead_agent_id = await sessionId(client, session);
        const now = await client.call(endpoints.setLead, { params, body: { lead_agent_id } });
        show(now, () => memberTable(now.members, now.team));
      }),
    );

  teams
    .command('spawn')
    .description('open a session as a member of a team')
    .argument(...teamArgument)
    .argument('[prompt]', 'its first message; - reads it from stdin')
    .requiredOption('--source <session>', 'the member that wants it: what is not said is as there')
    .option('--title <title>', 'what it is there for')
    .addOption(new Option('--provider <provider>', 'whose agent').choices(providerId.options))
    .option('--model <model>', 'a model of the provider')
    .option('--preset <name>', 'one of teams.model_presets, instead of provider and model')
    .option('--permission-mode <mode>', 'what the agent may do')
    .option('--worktree <name>', 'let it work in a git worktree, made where there is none')
    .option('--branch-prefix <prefix>', 'what the branch of that worktree begins with')
    .option('--base <ref>', 'what that branch starts from')
    .option('--no-init', 'do not run the init script of the repository')
    .option('--metadata <json>', 'any JSON, stored with the session')
    .option('--image <file...>', 'an image to show the agent')
    .action(clientAction(world, spawn));

  teams
    .command('interrupt-all')
    .description('ask for the turns of all members to end')
    .argument(...teamArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string) => {
        const params = { team_id: await teamId(client, end) };
        const asked = await client.call(endpoints.interruptTeam, { params, body: {} });
        const { length } = asked.interrupted_session_ids;
        show(asked, () =>
          length === 0 ? 'no member is at a turn\n' : `${length} turns are asked to end\n`,
        );
      }),
    );

  teamMessageCommands(teams, world);
}

interface SpawnOptions {
  source: string;
  title?: string;
  provider?: ProviderId;
  model?: string;
  preset?: string;
  permissionMode?: string;
  worktree?: string;
  branchPrefix?: string;
  base?: string;
  init: boolean;
  metadata?: string;
  image?: string[];
}

async function spawn(
  { client, show, world }: CommandContext,
  end: string,
  prompt: string | undefined,
  options: SpawnOptions,
): Promise<void> {
  const { source, title, provider, model, preset, permissionMode, metadata, image } = options;
  if (preset !== undefined && (provider !== undefined || model !== undefined))
    throw new AppError('usage', 'give --preset, or --provider and --model, not both');
  const params = { team_id: await teamId(client, end) };
  const spawned = await client.call(endpoints.spawnMember, {
    params,
    body: {
      source_session_id: await sessionId(client, source),
      title,
      provider,
      model,
      model_preset: preset,
      permission_mode: permissionMode,
      prompt: prompt === undefined ? undefined : await readPrompt(prompt, world.stdin),
      image_paths: image?.map((file) => path.resolve(file)),
      metadata: metadata === undefined ? undefined : parseMetadata(metadata),
      worktree: worktreeOf(options),
    },
  });
  show(spawned, () => `${spawned.session.id}\n`);
}

/** Throws `usage` for what is said of a worktree that is not asked for. */
function worktreeOf({ worktree: name, branchPrefix, base, init }: SpawnOptions) {
  if (name === undefined) {
    if (branchPrefix === undefined && base === undefined && init) return undefined;
    throw new AppError(
      'usage',
      '--branch-prefix, --base and --no-init are of a worktree: give --worktree, too',
    );
  }
  return {
    mode: 'reuse' as const,
    name,
    branch_prefix: branchPrefix,
    base_ref: base,
    run_init_script: init ? undefined : false,
  };
}

function memberTable(members: readonly Member[], team: { lead_agent_id: string }): string {
  const rows = members.map((one) => [
    one.agent_id,
    one.agent_id === team.lead_agent_id ? 'lead' : '-',
    one.title ?? '-',
  ]);
  return table(['SESSION', 'ROLE', 'TITLE'], rows);
}
