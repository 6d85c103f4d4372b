import path from 'node:path';
import type { BodyInputOf } from '../../../api/endpoint.ts';
import { usageError } from '../../../api/errors.ts';
import { isDescribed, type RuntimeEventRecord } from '../../../api/events.ts';
import { goalLimits } from '../../../api/goals.ts';
import { endpoints } from '../../../api/index.ts';
import { agentProvider, type ProviderId, providerId } from '../../../api/provider-kinds.ts';
import { type Contender, type Race, raceLimits } from '../../../api/races.ts';
import type { Client } from '../../../client/client.ts';
import { dollars, quantity } from '../../../core/lib/amounts.ts';
import { counted } from '../../../core/lib/counted.ts';
import { durationText } from '../../terminal/time.ts';
import { command, commandGroup, repeatable } from '../command.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { exitCodes } from '../exit.ts';
import { checkText } from '../goal-text.ts';
import type { Layout } from '../layout.ts';
import { count, milliseconds } from '../option-values.ts';
import { ago, listOf, plain, shortId, table } from '../output.ts';
import { limit, race as raceArgument } from '../parameters.ts';
import { type FollowOptions, reconnectMs, reconnectOption } from '../session/follow-options.ts';
import { agentBody, type AgentOptions } from '../session/open-session.ts';
import { promptParameters, readInput } from '../session/prompt.ts';
import { type SandboxOptions, sandboxOf, sandboxOptions } from '../session/sandbox-options.ts';
import { followEvents } from '../session/session-events.ts';
import { MODES } from '../turn-settings.ts';
import { clientAction, type CommandContext } from '../command-io.ts';
import { cleanupText } from './worktrees.ts';

interface RaceOptions extends SandboxOptions, Pick<FollowOptions, 'reconnect'> {
  with: string[];
  check?: string;
  until?: boolean;
  max?: number;
  /** In ms. */
  checkTimeout?: number;
  base?: string;
  name?: string;
  cwd?: string;
  permissionMode?: string;
}

type RaceBody = BodyInputOf<typeof endpoints.startRace>;

/** `cadre race "text"`: sends one prompt to several agents, each in a worktree, and compares their work. */
export const raceCommand = command({
  name: 'race',
  description: 'Send a prompt to several agents, and compare their work',
  parameters: [
    ...promptParameters.slice(0, 1),
    repeatable(
      `--with <contender>  Provider or agent that gets the prompt, with its model after a colon, such as claude:opus (repeat the option for ${raceLimits.leastContenders} to ${raceLimits.mostContenders} contenders)`,
    ),
    '--check <command>  Shell command line that checks the work of each contender, such as "npm test" (exit code 0: passed)',
    '--until  Send the output of a failed check as the next prompt (requires --check)',
    {
      line: `--max <n>  Maximum number of checks of each contender (default: ${goalLimits.defaultRounds}, requires --until)`,
      parse: count,
    },
    {
      line: '--check-timeout <duration>  Time limit of each check, such as 90s (default: 10m, requires --check)',
      parse: milliseconds,
    },
    '--base <ref>  Commit or branch that the worktrees start from (default: the commit that is checked out)',
    '--name <name>  Name of the race and prefix of its worktrees (default: a generated name)',
    '--cwd <directory>  Directory in the git repository (default: current directory)',
    `--permission-mode <mode>  Permission mode of all contenders (modes: ${MODES}; without the option: from the configuration, or require_approval on a terminal)`,
    ...sandboxOptions,
    reconnectOption,
  ],
  action: (io) => async (words: string[], options: RaceOptions, self) => {
    assertOptions(options);
    const [first] = await readInput(words, { image: [] }, io);
    const prompt = first?.type === 'text' ? first.text : '';
    await clientAction(io, (context: CommandContext) => race(context, prompt, options))(self);
  },
});

function assertOptions(options: RaceOptions): void {
  const { leastContenders: least, mostContenders: most } = raceLimits;
  const { length } = options.with;
  if (length < least || length > most)
    throw usageError(`a race needs ${least} to ${most} contenders: pass --with for each of them`);
  if (options.check === undefined && options.until) throw usageError('--until requires --check');
  if (options.check === undefined && options.checkTimeout !== undefined)
    throw usageError('--check-timeout requires --check');
  if (!options.until && options.max !== undefined) throw usageError('--max requires --until');
}

async function race(context: CommandContext, prompt: string, options: RaceOptions): Promise<void> {
  const { client, io, global, show, note, layout } = context;
  const body = await raceBody(context, prompt, options);
  const signal = io.interrupted();
  const { id, name, base_ref, base_commit } = await client.call(endpoints.startRace, { body });
  const report = (line: string) => {
    if (!global.json) io.stderr.write(`cadre: ${plain(line)}\n`);
  };
  const start = `${base_ref} (${base_commit.slice(0, 8)})`;
  report(`race ${name}: ${body.contenders.length} contenders start from ${start}`);
  const stop = () => {
    report('stopping the race; press Ctrl-C again to exit at once');
    void client.call(endpoints.stopRace, { params: { race_id: id }, body: {} }).catch(() => null);
  };
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  await followRace(context, id, options, report);
  signal.removeEventListener('abort', stop);
  const ended = await client.call(endpoints.getRace, { params: { race_id: id } });
  show(ended, () => raceTable(ended, layout, io.clock.now()));
  note(`keep one contender with cadre races keep ${name} CONTENDER`);
  const lost = ended.check === null ? exitCodes.failed : exitCodes.notPassed;
  const code = ended.status === 'failed' ? lost : exitCodes.ok;
  io.exit(signal.aborted ? Number(signal.reason) : code);
}

async function raceBody(
  context: CommandContext,
  prompt: string,
  options: RaceOptions,
): Promise<RaceBody> {
  const { io } = context;
  const { defaultsOf } = await import('../session/defaults.ts');
  const defaults = await defaultsOf(context);
  const hasPerson = io.stdin.isTTY === true;
  const { permissionMode: mode } = options;
  const shared = { hasPerson, ...(mode === undefined ? {} : { permissionMode: mode }) };
  const contenders: RaceBody['contenders'] = [];
  for (const contender of options.with) {
    const { provider, ...named } = contenderFrom(contender);
    const about = { ...shared, ...named };
    const { title: _title, ...settings } = await agentBody(context, provider, defaults, about);
    contenders.push(settings);
  }
  return {
    prompt,
    contenders,
    name: options.name,
    cwd: path.resolve(io.cwd(), options.cwd ?? '.'),
    base_ref: options.base,
    check: options.check,
    max_checks: options.until ? (options.max ?? goalLimits.defaultRounds) : undefined,
    check_timeout_ms: options.checkTimeout,
    sandbox: sandboxOf(options, io.cwd()),
  };
}

/** Reads `PROVIDER[:MODEL]` or `AGENT[:MODEL]`. */
function contenderFrom(
  contender: string,
): Pick<AgentOptions, 'agent' | 'model'> & { provider: ProviderId } {
  const [, name = '', model = null] = /^([^:]+)(?::(.+))?$/s.exec(contender) ?? [];
  if (name === '')
    throw usageError(`invalid contender "${contender}": expected PROVIDER or PROVIDER:MODEL`);
  const provider = providerId.options.find((one) => one === name);
  return {
    ...(provider ? { provider } : { provider: agentProvider, agent: name }),
    ...(model === null ? {} : { model }),
  };
}

/** Reports the progress of a race until it has ended. */
async function followRace(
  context: CommandContext,
  race_id: string,
  options: RaceOptions,
  report: (line: string) => void,
): Promise<void> {
  const client = await context.client.clientOf(race_id);
  const { value: race, headers } = await client.ask(endpoints.getRace, { params: { race_id } });
  const names = new ContenderNames(client, race);
  for (const one of race.contenders) if (one.ended_at !== null) report(resultText(one));
  if (race.status !== 'running') return;
  const events = followEvents(context, {
    client,
    after: Number(headers['x-seq'] ?? 0),
    kinds: ['race.*', 'goal.checked', 'approval.requested', 'queue.session_held'],
    reconnectMs: reconnectMs(options, context.io),
    report: (text) => context.io.stderr.write(text),
    see: `cadre races show ${shortId(race_id)}`,
  });
  for await (const event of events) {
    if (!isDescribed(event)) continue;
    if (event.kind === 'race.judged' && event.payload.race_id === race_id)
      report(resultText(event.payload.contender));
    if (event.kind === 'race.ended' && event.payload.race.id === race_id) return;
    const progress = progressText(event);
    if (progress === null || event.session_id === null) continue;
    const name = await names.of(event.session_id);
    if (name !== null) report(`${name}: ${progress}`);
  }
}

function progressText(event: RuntimeEventRecord): string | null {
  if (!isDescribed(event)) return null;
  if (event.kind === 'goal.checked') {
    const { goal } = event.payload;
    // The result of a contender says the same about its only check.
    return goal.max_rounds === 1 ? null : checkText(goal);
  }
  if (event.kind === 'queue.session_held') return `waiting: ${event.payload.hold.message}`;
  if (event.kind !== 'approval.requested') return null;
  const { id, title } = event.payload.approval;
  return `the agent requests approval: ${title}: answer with cadre approvals accept ${shortId(id)}`;
}

/** The names of contenders by their sessions, which start after the race. */
class ContenderNames {
  readonly #client: Client;
  #race: Race;

  constructor(client: Client, race: Race) {
    this.#client = client;
    this.#race = race;
  }

  async of(sessionId: string): Promise<string | null> {
    const { id: race_id, contenders } = this.#race;
    if (contenders.some(({ status }) => status === 'starting'))
      this.#race = await this.#client.call(endpoints.getRace, { params: { race_id } });
    const found = this.#race.contenders.find(({ session_id }) => session_id === sessionId);
    return found?.contender ?? null;
  }
}

export const raceCommands = commandGroup(
  'races',
  'Compare sessions with the same prompt, and keep one of them',
  [
    endpointCommand({
      name: 'list',
      description: 'List races, newest first',
      endpoint: endpoints.listRaces,
      parameters: [limit],
      empty: 'no races: start a race with cadre race',
      print: listOf<Race>(
        ['ID', 'STATUS', 'AGE', 'NAME', 'CONTENDERS', 'KEPT', 'PROMPT'],
        (one, now) => [
          shortId(one.id),
          one.status,
          ago(one.created_at, now),
          one.name,
          one.contenders.map(({ contender }) => contender).join(', '),
          one.kept ?? '-',
          one.prompt,
        ],
      ),
    }),
    endpointCommand({
      name: 'show',
      alias: 'get',
      description: 'Show the contenders of a race and their results',
      endpoint: endpoints.getRace,
      parameters: [raceArgument],
      print: (one, { layout, now }) => raceTable(one, layout, now),
    }),
    endpointCommand({
      name: 'keep',
      description:
        'Keep one contender of a race, close the other sessions, and archive and remove their worktrees',
      endpoint: endpoints.keepContender,
      parameters: [raceArgument, '<contender>  Name of the contender in the table of the race'],
      confirm: (reference) =>
        `close the other sessions of race "${reference}", and archive and remove their worktrees?`,
      print: ({ race: { contenders, kept }, cleanups }) => {
        const found = contenders.find(({ contender }) => contender === kept);
        const worktree = found?.worktree_name ?? '';
        const lines = [
          `Kept ${kept} (session ${shortId(found?.session_id ?? '')}, worktree "${worktree}")`,
          `Merge the worktree with cadre worktrees merge ${worktree}`,
        ];
        return cleanups.map(cleanupText).join('') + lines.map((one) => `${plain(one)}\n`).join('');
      },
    }),
    endpointCommand({
      name: 'stop',
      description: 'Interrupt the running turns of a race, and cancel its checks',
      endpoint: endpoints.stopRace,
      parameters: [raceArgument],
      print: (one, { layout, now }) => raceTable(one, layout, now),
    }),
  ],
);

const heading = [
  'CONTENDER',
  'STATUS',
  'FILES',
  'LINES',
  'TIME',
  'TOKENS',
  'COST',
  'SESSION',
  'DETAIL',
];

/** The contenders of a race as a table. */
function raceTable({ contenders, kept }: Race, layout: Layout, now: number): string {
  const rows = contenders.map((one) => [
    one.contender,
    one.contender === kept ? `${one.status}, kept` : one.status,
    one.files_changed === null ? '-' : String(one.files_changed),
    linesText(one),
    timeText(one, now),
    one.usage?.total_tokens == null ? '-' : quantity(one.usage.total_tokens),
    one.usage?.cost_usd == null ? '-' : dollars(one.usage.cost_usd),
    one.session_id === null ? '-' : shortId(one.session_id),
    one.failure?.message ?? one.waits_for ?? checksText(one),
  ]);
  return table(heading, rows, layout);
}

/** One line on the end of a contender: `claude passed (2 files, +31 -4, 1m 2s)`. */
function resultText(one: Contender): string {
  const { contender, status, failure, files_changed: files } = one;
  if (failure !== null) return plain(`${contender} failed: ${failure.message}`);
  const changes = files === null ? [] : [counted(files, 'file'), linesText(one)];
  return `${contender} ${status} (${[...changes, timeText(one, 0)].join(', ')})`;
}

function linesText({ additions, deletions }: Contender): string {
  return additions === null || deletions === null ? '-' : `+${additions} -${deletions}`;
}

function timeText({ started_at, ended_at }: Contender, now: number): string {
  return started_at === null ? '-' : durationText((ended_at ?? now) - started_at);
}

function checksText({ checks }: Contender): string {
  return checks === 0 ? '' : counted(checks, 'check');
}
