import type { Process } from '../../../api/processes.ts';
import { frame, withoutFrames } from '../../../core/lib/frame.ts';
import type { Inbox, InboxSource } from '../../conversations/inbox/inbox.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import { outputLines } from '../../../core/lib/output-lines.ts';
import type { ProcessStore } from './store.ts';
import type { Writer } from '../../../core/store/transaction.ts';

const OWNER = 'process';
/** The rank of notices in the inbox, between urgent and ordinary messages. */
const RANK = 1;

interface ExitNoticesDependencies {
  inbox: Inbox;
  store: ProcessStore;
  sessionStore: SessionStore;
}

/**
 * Notifies owners of the end of processes that were started with `on_exit: notify`, by a turn: at once if the owner is
 * idle, else after its turn. Each end is notified once, also if the server is restarted meanwhile.
 */
export class ExitNotices {
  readonly #deps: ExitNoticesDependencies;

  constructor(deps: ExitNoticesDependencies) {
    this.#deps = deps;
    deps.inbox.register(OWNER, this.#inboxOwner());
  }

  /** Puts the notice of a process that ends in this transaction into its owner's inbox. */
  put(tx: Writer, process: Process, tails: { stdout: string; stderr: string }): void {
    const { session_id, process_id: ref, notice } = process;
    if (session_id === null || notice !== 'pending') return;
    if (this.#deps.sessionStore.session(tx, session_id).status === 'closed')
      return this.#settle(tx, ref, 'dropped');
    const text = noticeText(process, tails);
    this.#deps.inbox.entries.put(tx, { session_id, owner: OWNER, ref, rank: RANK, text });
    this.#deps.inbox.beginNextTurn(tx, session_id);
  }

  #inboxOwner(): InboxSource {
    return {
      content: (_tx, { text }) => ({
        source: 'process_exit',
        input: [{ type: 'text', text: text ?? '' }],
      }),
      injecting: () => undefined,
      injected: (tx, ref) => this.#settle(tx, ref, 'delivered'),
      deferred: (tx, ref) => {
        this.#settle(tx, ref, 'pending');
        return true;
      },
      ended: () => false,
      unreachable: (tx, ref, { status }) => {
        // A session that has failed may be resumed.
        if (status === 'closed') this.#settle(tx, ref, 'dropped');
        return status !== 'closed';
      },
    };
  }

  #settle(tx: Writer, processId: string, notice: NonNullable<Process['notice']>): void {
    const process = this.#deps.store.processes.get(tx, processId);
    if (process && process.notice !== notice)
      this.#deps.store.processes.update(tx, { ...process, notice });
  }
}

function noticeText(process: Process, tails: { stdout: string; stderr: string }): string {
  const { process_id, command, status, exit_code, signal, started_at, ended_at } = process;
  const ran = ((ended_at ?? 0) - (started_at ?? ended_at ?? 0)) / 1000;
  const facts = [
    status,
    exit_code === null ? null : `exit code ${exit_code}`,
    signal === null ? null : `signal ${signal}`,
    `after ${ran.toFixed(1)} s`,
  ];
  const lines = [
    `Process ${process_id} ended: ${facts.filter((one) => one !== null).join(', ')}.`,
    withoutFrames(command.slice(0, 1000)),
    ...outputLines(tails),
  ];
  return frame('process_exit', { id: process_id, status }, lines.join('\n'));
}
