import { endpoints } from '../../../../src/api/index.ts';
import type { UntypedEvent } from '../../../support/untyped-events.ts';
import type { Complaints } from '../../crash/checks.ts';
import { randomPrompt } from '../../crash/prompts.ts';
import { checkPromptsGiven } from '../../crash/prompts-given.ts';
import { Stories } from '../../crash/turn-checker.ts';
import {
  openSession,
  type Rest,
  rest,
  sendTurn,
  type Story,
  untilClosing,
  type World,
} from '../activity.ts';

/** Turns with text, tools and floods. Their output is checked word by word, and the search has to find them. */
export class TurnStory implements Story {
  readonly name = 'turns and search';
  readonly #world: World;
  readonly #stories = new Stories({ mayLackDeltas: true });
  readonly #sessions = new Set<string>();
  readonly #labels = new Map<string, string>();

  constructor(world: World) {
    this.#world = world;
  }

  async run(): Promise<void> {
    await Promise.all([this.#converse(), this.#converse()]);
  }

  /** Checks a part of the log. Parts follow one another. */
  follow(log: readonly UntypedEvent[]): Complaints {
    return log.flatMap((event) =>
      this.#sessions.has(event.session_id ?? '') && isOfTurn(event)
        ? this.#stories.follow(event)
        : [],
    );
  }

  async check({ client }: Rest): Promise<Complaints> {
    const wrong: Complaints = [];
    const turnOf = new Map([...this.#labels].map(([turn, label]) => [label, turn]));
    for (const [label, turn] of turnOf) {
      const query = { q: label, kind: 'prompt' as const };
      const hits = await client.call(endpoints.search, { query });
      const found = hits.map(({ turn_id }) => turn_id).join(', ');
      if (found !== turn)
        wrong.push(`a search for ${label} of ${turn} found: ${found || 'nothing'}`);
      const end = this.#stories.endOf(turn);
      if (end !== 'completed') continue;
      const answers = await client.call(endpoints.search, {
        query: { q: `said${label}`, kind: 'answer' },
      });
      if (answers.length !== 1 || answers[0]?.turn_id !== turn)
        wrong.push(`a search for the answer of ${turn} found ${answers.length}`);
    }
    wrong.push(
      ...checkPromptsGiven(this.#world.place, this.#stories.completedPrompts, isOwnPrompt),
    );
    return wrong;
  }

  /** One session after the other, each with some turns, one after the other. */
  async #converse(): Promise<void> {
    const { random, newLabel } = this.#world;
    const world = { ...this.#world, random: random.fork() };
    await untilClosing(world, async () => {
      const session = await openSession(world, world.place);
      for (let left = world.random.between(5, 40); left > 0 && !world.closing.aborted; left--) {
        const label = newLabel();
        const prompt = `${label}; say said${label}; ${randomPrompt(world.random, world.random.chance(0.03))}`;
        this.#sessions.add(session);
        const turn = await sendTurn(world, session, prompt);
        this.#labels.set(turn, label);
        await world.happenings.endOf(turn);
        await rest(world, 100);
      }
    });
  }
}

const isOwnPrompt = (prompt: string) => /^\w+; say said/.test(prompt);

const isOfTurn = ({ kind }: UntypedEvent) =>
  /^(turn|message|reasoning|tool)\./.test(kind) || kind === 'session.created';
