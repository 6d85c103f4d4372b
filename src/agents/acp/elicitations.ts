import { z } from 'zod';
import type { LoginPage } from '../../api/agent-logins.ts';
import { excessOf } from '../json-connection.ts';
import { tooLargeRequest } from '../omissions.ts';
import type { AgentSink } from '../provider.ts';
import {
  type Elicitation,
  elicitationAnswer,
  elicitationRequest,
  isPage,
  pageIdOf,
  readElicitation,
} from './elicitation.ts';
import type { ReportedCall } from './reported-call.ts';

interface Dependencies {
  sink: AgentSink;
  /** Whether a turn runs whose requests go to people. */
  isAsking: () => boolean;
  /** What is known of a tool call of the turn. */
  callOf: (ref: string) => ReportedCall | undefined;
  /** Shows a page to whoever waits for the agent, where that is no turn. */
  onPage: ((page: LoginPage) => void) | undefined;
}

/** Puts the questions of an agent to people. */
export class Elicitations {
  readonly #deps: Dependencies;
  /** The pages that somebody is to open, by the agent's ids; aborting one withdraws the question. */
  readonly #pages = new Map<string, AbortController>();

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Asks and answers in the protocol's words. Outside a turn, and where nobody is asked, the question is declined. */
  async ask(params: unknown, withdrawn: AbortSignal): Promise<object> {
    const asked = readElicitation(params);
    if (!asked) return { action: 'decline' };
    const { onPage } = this.#deps;
    if (onPage && isPage(asked)) {
      onPage({ message: asked.message, url: asked.url });
      return { action: 'accept' };
    }
    const excess = excessOf(params);
    if (excess) {
      await this.#deps.sink.update({ type: 'notice', ...tooLargeRequest(excess) });
      return { action: 'decline' };
    }
    if (!this.#deps.isAsking()) return this.#decline(asked);
    const pageId = pageIdOf(asked);
    const done = new AbortController();
    if (pageId !== null) this.#pages.set(pageId, done);
    try {
      const call = asked.toolCallId ? this.#deps.callOf(asked.toolCallId) : undefined;
      const request = elicitationRequest(asked, params, call);
      const signal = AbortSignal.any([withdrawn, done.signal]);
      const answer = await this.#deps.sink.ask(request, signal);
      return done.signal.aborted ? { action: 'accept' } : elicitationAnswer(asked, answer);
    } finally {
      if (pageId !== null) this.#pages.delete(pageId);
    }
  }

  /** Takes the news that what a page was opened for is done: then nobody has to answer any more. */
  done(params: unknown): void {
    const { elicitationId: id } = completed.safeParse(params).data ?? {};
    if (id !== undefined) this.#pages.get(id)?.abort();
  }

  async #decline({ message }: Elicitation): Promise<object> {
    await this.#deps.sink.update({ type: 'declined_unasked' });
    await this.#deps.sink.update({
      type: 'notice',
      code: 'question_declined',
      message: `cadre declined a question of the agent (${message}): to answer questions of the agent, send the turn with permission_mode "require_approval"`,
    });
    return { action: 'decline' };
  }
}

const completed = z.looseObject({ elicitationId: z.string() });
