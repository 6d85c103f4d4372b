import type { BodyInputOf } from '../../../api/endpoint.ts';
import { usageError } from '../../../api/errors.ts';
import { isDescribed, type RuntimeEventRecord } from '../../../api/events.ts';
import { goalLimits } from '../../../api/goals.ts';
import { endpoints } from '../../../api/index.ts';
import { agentProvider, type ProviderId, providerId } from '../../../api/provider-kinds.ts';
import { type Race, raceLimits } from '../../../api/races.ts';
import type { Client } from '../../../client/client.ts';
import { command, repeatable } from '../command.ts';
import { exitCodes } from '../exit.ts';
import { checkText } from '../goal-text.ts';
import { count, milliseconds } from '../option-values.ts';
import { plain, shortId } from '../output.ts';
import { raceTable, resultText } from '../race-text.ts';
import { type FollowOptions, reconnectMs, reconnectOption } from '../talk/follow-options.ts';
import { agentBody } from '../talk/open-session.ts';
import { readInput } from '../talk/prompt.ts';
import { type SandboxOptions, sandboxOf, sandboxOptions } from '../talk/sandbox-options.ts';
import { followEvents } from '../talk/session-events.ts';
import { clientAction, type CommandContext } from '../world.ts';

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
    '[text...]  Text of the prompt (text from a pipe is appended; with - as the last word, all of stdin is read)',
    repeatable(
      `--with <contender>  Provider or agent that gets the prompt, with its model after a colon, such as claude:opus (repeat the option for ${raceLimits.leastContenders} to ${raceLimits.mostContenders} contenders)`,
    ),
    '--check <command>  Shell command line that a contender passes with exit code 0, such as "npm test"',
    '--until  Send the output of a failed check as the next prompt, requires --check',
    {
      line: `--max <n>  Maximum number of checks of each contender (default ${goalLimits.defaultRounds}, requires --until)`,
      parse: count,
    },
    {
      line: '--check-timeout <duration>  Time limit of each check, such as 90s (default 10m, requires --check)',
      parse: milliseconds,
    },
    '--base <ref>  Commit or branch that the worktrees start from (default: the commit that is checked out)',
    '--name <name>  Name of the race and prefix of its worktrees (default: a generated name)',
    '--cwd <directory>  Directory in the git repository (default: current directory)',
    '--permission-mode <mode>  Permission mode of all contenders (default: from the configuration, or require_approval on a terminal)',
    ...sandboxOptions,
    reconnectOption,
  ],
  action: (world) => async (words: string[], options: RaceOptions, self) => {
    assertOptions(options);
    const [said] = await readInput(words, { image: [] }, world);
    const prompt = said?.type === 'text' ? said.text : '';
    await clientAction(world, (context: CommandContext) => race(context, prompt, options))(self);
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
  const { client, world, global, show, note, layout } = context;
  const body = await raceBody(context, prompt, options);
  const { id, name, base_ref, base_commit } = await client.call(endpoints.startRace, { body });
  const tell = (line: string) => {
    if (!global.json) world.stderr.write(`cadre: ${plain(line)}\n`);
  };
  const start = `${base_ref} (${base_commit.slice(0, 8)})`;
  tell(`race ${name}: ${body.contenders.length} contenders start from ${start}`);
  const signal = world.interrupted();
  const stop = () => {
    tell('stopping the race; press Ctrl-C again to exit at once');
    void client.call(endpoints.stopRace, { params: { race_id: id }, body: {} }).catch(() => null);
  };
  signal.addEventListener('abort', stop, { once: true });
  await followRace(context, id, options, tell);
  signal.removeEventListener('abort', stop);
  const ended = await client.call(endpoints.getRace, { params: { race_id: id } });
  show(ended, () => raceTable(ended, layout, world.clock.now()));
  note(`keep one contender with cadre races keep ${name} CONTENDER`);
  const lost = ended.check === null ? exitCodes.failed : exitCodes.notPassed;
  const code = ended.status === 'failed' ? lost : exitCodes.ok;
  world.exit(signal.aborted ? Number(signal.reason) : code);
}

async function raceBody(
  context: CommandContext,
  prompt: string,
  options: RaceOptions,
): Promise<RaceBody> {
  const { world } = context;
  const { defaultsOf } = await import('../talk/defaults.ts');
  const defaults = await defaultsOf(context);
  const hasPerson = world.stdin.isTTY === true;
  const contenders: RaceBody['contenders'] = [];
  for (const said of options.with) {
    const { provider, agent, model } = contenderFrom(said);
    const { permissionMode } = options;
    const about = { agent, model, permissionMode, hasPerson };
    const { title: _title, ...settings } = await agentBody(context, provider, defaults, about);
    contenders.push(settings);
  }
  return {
    prompt,
    contenders,
    name: options.name,
    cwd: options.cwd ?? world.cwd(),
    base_ref: options.base,
    check: options.check,
    max_checks: options.until ? (options.max ?? goalLimits.defaultRounds) : undefined,
    check_timeout_ms: options.checkTimeout,
    sandbox: sandboxOf(options, world.cwd()),
  };
}

/** Reads `PROVIDER[:MODEL]` or `AGENT[:MODEL]`. */
function contenderFrom(said: string): { provider: ProviderId; agent?: string; model?: string | undefined } {
  const [name = '', ...rest] = said.split(':');
  const model = rest.length === 0 ? undefined : rest.join(':');
  if (name === '' || model === '')
    throw usageError(`invalid contender "${said}": expected PROVIDER or PROVIDER:MODEL`);
  const provider = providerId.options.find((one) => one === name);
  return provider ? { provider, model } : { provider: agentProvider, agent: name, model };
}

/** Reports the progress of a race until it has ended. */
async function followRace(
  context: CommandContext,
  race_id: string,
  options: RaceOptions,
  tell: (line: string) => void,
): Promise<void> {
  const client = await context.client.clientOf(race_id);
  const { value: race, headers } = await client.ask(endpoints.getRace, { params: { race_id } });
  const names = new ContenderNames(client, race);
  for (const one of race.contenders) if (one.ended_at !== null) tell(resultText(one));
  if (race.status !== 'running') return;
  const events = followEvents(context, {
    client,
    after: Number(headers['x-seq'] ?? 0),
    kinds: ['race.*', 'goal.checked', 'approval.requested', 'queue.session_held'],
    reconnectMs: reconnectMs(options, context.world),
    tell: (text) => context.world.stderr.write(text),
    see: `cadre races show ${shortId(race_id)}`,
  });
  for await (const event of events) {
    if (!isDescribed(event)) continue;
    if (event.kind === 'race.judged' && event.payload.race_id === race_id)
      tell(resultText(event.payload.contender));
    if (event.kind === 'race.ended' && event.payload.race.id === race_id) return;
    const progress = progressText(event);
    if (progress === null || event.session_id === null) continue;
    const name = await names.of(event.session_id);
    if (name !== null) tell(`${name}: ${progress}`);
  }
}

function progressText(event: RuntimeEventRecord): string | null {
  if (!isDescribed(event)) return null;
  if (event.kind === 'goal.checked') return checkText(event.payload.goal);
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
