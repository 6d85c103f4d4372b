import type { AttachedRequest } from '../attached-turn.ts';
import { OpenRequests } from '../json-connection.ts';
import type { OutputLine, OutputLines } from '../output-lines.ts';
import { type AgentAnswer, type AgentSink, report, type TurnSettings } from '../provider.ts';
import type { RequestOrigin } from '../read-position.ts';
import { type Connection, type Params, refused, type ServerRequest } from './connection.ts';
import type { Reader } from './items.ts';
import { type CodexRequest, readRequest, refusalOf } from './requests.ts';
import type { ThreadState } from './thread-state.ts';

interface Dependencies {
  sink: AgentSink;
  lines: OutputLines;
  connection: Connection;
  reader: Pick<Reader, 'changesOf' | 'commandOf' | 'isForgotten' | 'decline'>;
  permissionMode: () => TurnSettings['permissionMode'];
  state: Pick<ThreadState, 'isOver'>;
  onUnknown: () => void;
}

/** The id and the method of a request: the method decides on the form of the answer. */
type RequestKey = Pick<ServerRequest, 'id' | 'method'>;

/** Answers the requests of codex for one session. */
export class SessionRequests {
  readonly #deps: Dependencies;
  readonly #open = new OpenRequests<ServerRequest['id']>();

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** A request becomes an approval where approvals are on; else it is declined, so no turn hangs. */
  ask({ id, method, params }: ServerRequest, line: OutputLine): void {
    const { reader, state, onUnknown } = this.#deps;
    const asked = readRequest(method, params, reader);
    const hold = line.hold();
    if (!asked) {
      onUnknown();
      void this.#refuse(id, `cadre does not support the request ${method}`, hold);
      return;
    }
    const origin = { key: JSON.stringify({ id, method } satisfies RequestKey), hold };
    void this.#answer({ id, asked, origin }, async (withdrawn) => {
      if (state.isOver) return { decision: 'cancelled' };
      return this.#decide(asked, withdrawn, { line, origin });
    });
  }

  /** Answers a request that an earlier server has stored. */
  askAgain({ key, isWithdrawn, request, answer }: AttachedRequest): void {
    const { id, method } = JSON.parse(key) as RequestKey;
    const asked = readRequest(method, request as Params, this.#deps.reader);
    // Codex waits for no answer to a request that it has withdrawn.
    if (!asked || isWithdrawn) return;
    void this.#answer({ id, asked, origin: { key, hold: null } }, async (withdrawn) =>
      this.#applied(asked, await answer(withdrawn), this.#deps.sink),
    );
  }

  withdraw(id: unknown): void {
    this.#open.withdraw(id as ServerRequest['id']);
  }

  withdrawAll(): void {
    this.#open.withdrawAll();
  }

  #answer(
    { id, asked, origin }: { id: ServerRequest['id']; asked: CodexRequest; origin: Origin },
    decide: (withdrawn: AbortSignal) => Promise<AgentAnswer>,
  ): Promise<void> {
    const { connection, lines } = this.#deps;
    const { key: answers, hold } = origin;
    const decided = async (withdrawn: AbortSignal) => {
      const answer = await decide(withdrawn);
      if (withdrawn.aborted) hold?.[Symbol.dispose]();
      return answer;
    };
    return this.#open.answer(id, decided, (answer) =>
      connection.answer(id, { result: asked.answer(answer) }, lines, { answers, hold }),
    );
  }

  async #refuse(id: ServerRequest['id'], why: string, hold: Disposable): Promise<void> {
    // The row of an answer is written with a position after the line of the request.
    await Promise.resolve();
    this.#deps.connection.answer(id, refused(why), this.#deps.lines, { hold });
  }

  async #decide(
    asked: CodexRequest,
    withdrawn: AbortSignal,
    { line, origin }: { line: OutputLine; origin: RequestOrigin },
  ): Promise<AgentAnswer> {
    const mode = this.#deps.permissionMode();
    let answer: AgentAnswer = { decision: 'decline', reason: refusalOf(asked, mode) };
    if (mode !== 'require_approval' && !asked.excess) {
      await report(line, [{ type: 'declined_unasked' }]);
    } else if (!asked.excess) {
      await show(asked, 'pending', line);
      answer = await this.#deps.sink.ask(asked.request, withdrawn, origin);
    }
    return this.#applied(asked, answer, line);
  }

  async #applied(
    asked: CodexRequest,
    answer: AgentAnswer,
    to: Pick<AgentSink, 'update'>,
  ): Promise<AgentAnswer> {
    const { itemId } = asked;
    if (answer.decision === 'accept') await show(asked, 'running', to);
    if (answer.decision === 'decline' && itemId !== null)
      this.#deps.reader.decline(itemId, `declined: ${answer.reason ?? 'by the user'}`);
    return answer;
  }
}

/** Where a request comes from. The line of a request of an earlier server has no hold. */
type Origin = Pick<RequestOrigin, 'key'> & { hold: Disposable | null };

async function show(
  { itemId: ref }: CodexRequest,
  status: 'pending' | 'running',
  to: Pick<AgentSink, 'update'>,
): Promise<void> {
  if (ref !== null) await report(to, [{ type: 'tool', ref, change: { status } }]);
}
