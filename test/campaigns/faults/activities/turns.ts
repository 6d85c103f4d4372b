import { endpoints } from '../../../../src/api/index.ts';
import type { UntypedEvent } from '../../../support/untyped-events.ts';
import type { Violations } from '../../crash/checks.ts';
import { randomPrompt } from '../../crash/prompts.ts';
import { checkPromptsGiven } from '../../crash/prompts-given.ts';
import { TurnChecker } from '../../crash/turn-checker.ts';
import {
  openSession,
  type FinalState,
  pauseRandomly,
  sendTurn,
  type Activity,
  untilClosing,
  type ActivityContext,
} from '../activity.ts';

/** Turns with text, tools and floods. Their output is checked word by word, and the search has to find them. */
export class TurnActivity implements Activity {
  readonly name = 'turns and search';
  readonly #context: ActivityContext;
  readonly #turnChecker = new TurnChecker({ mayLackDeltas: true });
  readonly #sessions = new Set<string>();
  readonly #labels = new Map<string, string>();

  constructor(context: ActivityContext) {
    this.#context = context;
  }

  async run(): Promise<void> {
    await Promise.all([this.#converse(), this.#converse()]);
  }

  /** Checks a part of the log. Parts follow one another. */
  follow(log: readonly UntypedEvent[]): Violations {
    return log.flatMap((event) =>
      this.#sessions.has(event.session_id ?? '') && isOfTurn(event)
        ? this.#turnChecker.follow(event)
        : [],
    );
  }

  async check({ client }: FinalState): Promise<Violations> {
    const wrong: Violations = [];
    const turnOf = new Map([...this.#labels].map(([turn, label]) => [label, turn]));
    for (const [label, turn] of turnOf) {
      const query = { q: label, kind: 'prompt' as const };
      const hits = await client.call(endpoints.search, { query });
      const found = hits.map(({ turn_id }) => turn_id).join(', ');
      if (found !== turn)
        wrong.push(`a search for ${label} of ${turn} found: ${found || 'nothing'}`);
      const end = this.#turnChecker.endOf(turn);
      if (end !== 'completed') continue;
      const answers = await client.call(endpoints.search, {
        query: { q: `said${label}`, kind: 'answer' },
      });
      if (answers.length !== 1 || answers[0]?.turn_id !== turn)
        wrong.push(`a search for the answer of ${turn} found ${answers.length}`);
    }
    wrong.push(
      ...checkPromptsGiven(this.#context.place, this.#turnChecker.completedPrompts, isOwnPrompt),
    );
    return wrong;
  }

  /** One session after the other, each with some turns, one after the other. */
  async #converse(): Promise<void> {
    const { random, newLabel } = this.#context;
    const context = { ...this.#context, random: random.fork() };
    await untilClosing(context, async () => {
      const session = await openSession(context, context.place);
      for (let left = context.random.between(5, 40); left > 0 && !context.closing.aborted; left--) {
        const label = newLabel();
        const prompt = `${label}; say said${label}; ${randomPrompt(context.random, context.random.chance(0.03))}`;
        this.#sessions.add(session);
        const turn = await sendTurn(context, session, prompt);
        this.#labels.set(turn, label);
        await context.eventWaiter.endOf(turn);
        await pauseRandomly(context, 100);
      }
    });
  }
}

const isOwnPrompt = (prompt: string) => /^\w+; say said/.test(prompt);

const isOfTurn = ({ kind }: UntypedEvent) =>
  /^(turn|message|reasoning|tool)\./.test(kind) || kind === 'session.created';
