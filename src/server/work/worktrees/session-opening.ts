import fs from 'node:fs/promises';
import path from 'node:path';
import type { BodyOf } from '../../../api/endpoint.ts';
import type { createSession } from '../../../api/session-requests.ts';
import type { Session } from '../../../api/sessions.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { conflictError } from '../../../api/errors.ts';
import type { SessionService } from '../../conversations/sessions/service.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { WorktreeDependencies } from './dependencies.ts';
import { checkoutAround } from '../git/repository.ts';
import type { WorktreeService } from './service.ts';

type Body = BodyOf<typeof createSession>;
type WorktreeRequest = Exclude<Body['worktree'], true | null | undefined> & {
  base_commit?: string;
};
type OpenRequest = Omit<Body, 'import' | 'worktree'> & {
  worktree?: WorktreeRequest | true | null | undefined;
};

interface Drafted {
  store: (tx: Writer, session: Session) => void;
  /** Writes the files of a new worktree; null: it has the files of its commit. */
  fill: ((worktree: Worktree) => Promise<void>) | null;
}

interface Dependencies extends Pick<WorktreeDependencies, 'db' | 'sessionStore' | 'claims'> {
  sessions: SessionService;
  worktrees: WorktreeService;
}

/** Opens sessions, each in a worktree where that is asked for. */
export class SessionOpening {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Opens a session. Session, worktree and claim are all created, or none is. `saveResponse` runs in their transaction. */
  async open(
    { worktree: requested, ...body }: OpenRequest,
    saveResponse?: SaveResponse,
  ): Promise<Session> {
    if (!requested) return this.#deps.sessions.create(body, saveResponse);
    const session = await this.#deps.sessions.draft(body);
    const store = (tx: Writer, opened: Session) =>
      this.#deps.sessionStore.createSession(tx, opened, body.mcp_servers);
    return this.openDrafted(requested, session, { store, fill: null }, saveResponse);
  }

  /** Opens a drafted session in a worktree. Throws `conflict` for an existing worktree if `fill` is to write its files. */
  async openDrafted(
    requested: WorktreeRequest | true,
    session: Session,
    { store, fill }: Drafted,
    saveResponse?: SaveResponse,
  ): Promise<Session> {
    const { db, sessionStore, worktrees, claims } = this.#deps;
    const request = requestOf(requested === true ? {} : requested, session);
    const open = async (worktree: Worktree, created: boolean): Promise<Session> => {
      if (fill && !created)
        throw conflictError(
          `worktree ${worktree.worktree_name} exists already: name a new worktree for the files`,
        );
      await fill?.(worktree);
      const cwd = await directoryIn(
        worktree,
        path.resolve(session.cwd, request.repo_root ?? '.'),
        session.cwd,
      );
      return db.transact((tx) => {
        store(tx, { ...session, cwd });
        claims.make(tx, worktree.id, session.id, created ? 'owner' : 'consumer');
        return sessionStore.session(tx, session.id);
      }, saveResponse);
    };
    return worktrees.use(request, open, session);
  }
}

function requestOf(requested: WorktreeRequest, { id }: Session) {
  const worktree_name = requested.worktree_name ?? `session-${id.slice(-8)}`;
  return { ...requested, worktree_name, source_session_id: id };
}

/**
 * Returns the directory of a worktree that corresponds to `cwd` in the checkout that contains `directory`; if `cwd`
 * lies outside of that checkout, the worktree itself. Throws `conflict` if the worktree has no such directory.
 */
async function directoryIn(worktree: Worktree, directory: string, cwd: string): Promise<string> {
  const root = await fs.realpath(worktree.path);
  const checkout = await checkoutAround(directory);
  const below = checkout === null ? '' : path.relative(checkout.files, cwd);
  if (below === '' || isOutside(below)) return root;
  const found = await fs.realpath(path.join(root, below)).catch(() => null);
  const isDirectory = found !== null && (await fs.stat(found)).isDirectory();
  if (isDirectory && !isOutside(path.relative(root, found))) return found;
  throw conflictError(
    `worktree ${worktree.worktree_name} has no directory "${below}", because ${worktree.base_ref} does not contain that directory: commit the directory first, or open the session in a committed directory`,
  );
}

function isOutside(relative: string): boolean {
  return relative === '..' || relative.startsWith(`..${path.sep}`);
}
