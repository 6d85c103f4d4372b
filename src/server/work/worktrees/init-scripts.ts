import type { ServerParts } from '../../../core/events/server-parts.ts';
import path from 'node:path';
import type { BodyOf, QueryOf } from '../../../api/endpoint.ts';
import type { Brought, listTrusted, lookAtBrought, Trusted } from '../../../api/worktree-trust.ts';
import { isAppError, notFoundError } from '../../../api/errors.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import { type RecordPage, RecordTable } from '../../../core/store/records.ts';
import { filtersIn, ownSettings } from '../git/isolated-git-dir.ts';
import {
  type Committed,
  committedFiles,
  committedTemplates,
  filtersText,
  handoffDigest,
  handoffText,
  sha256Of,
} from '../git/consent.ts';
import type { Git } from '../git/git.ts';
import { findRepository, type Repository } from '../git/repository.ts';
import type { WorktreeStore } from './store.ts';
import { isUsable } from './worktree.ts';

/** The file of a repository that names the ignored files which new worktrees get; it has the syntax of `.gitignore`. */
const PATTERNS_FILE = '.worktreeinclude';

interface InitScriptsDependencies extends Pick<ServerParts, 'db' | 'clock'> {
  git: Git;
  sessionStore: SessionStore;
  worktrees: WorktreeStore;
  script: () => string;
  /** Returns the one name of an agent that a user names. Throws `invalid` for an unknown agent. */
  agentName: (name: string) => string;
}

/**
 * The init scripts, lists of included files and filters that repositories bring, and which of them a person has trusted.
 * Content is trusted by its digest, for one repository each.
 */
export class InitScripts {
  readonly #deps: InitScriptsDependencies;
  readonly #trusted: RecordTable<Trusted>;
  #notifyTrusted: () => void = () => undefined;

  constructor(deps: InitScriptsDependencies) {
    this.#deps = deps;
    this.#trusted = new RecordTable<Trusted>(deps.db, 'worktree_trust', trustId);
  }

  /**
   * Returns the init script that would run if a worktree of this name were made for the session; null if the repository
   * has none or the worktree exists. Throws `not_found` for an unknown session, `invalid` if the session works in no
   * repository.
   */
  async look(request: {
    source_session_id: string;
    worktree_name: string;
  }): Promise<{ repo_root: string; sha256: string; text: string; trusted: boolean } | null> {
    const session = await this.#deps.db.read((rx) =>
      this.#deps.sessionStore.session(rx, request.source_session_id),
    );
    const repository = await findRepository(this.#deps.git, path.resolve(session.cwd));
    const { root } = repository;
    const named = await this.#deps.db.read((rx) =>
      this.#deps.worktrees.named(rx, root, request.worktree_name),
    );
    if (named.some(isUsable)) return null;
    const { script } = await this.committedIn(repository, { patterns: false });
    if (script === null) return null;
    return {
      repo_root: root,
      sha256: script.sha256,
      text: script.content.toString('utf8'),
      trusted: await this.isTrusted(root, script.sha256),
    };
  }

  /** Calls `notify` whenever somebody has trusted content. */
  onTrusted(notify: () => void): void {
    this.#notifyTrusted = notify;
  }

  /** Resolves with whether an agent may continue sessions of the repository of a directory by itself. */
  async allowsHandoff(directory: string, agent: string): Promise<boolean> {
    try {
      const { root } = await findRepository(this.#deps.git, path.resolve(directory));
      return await this.isTrusted(root, handoffDigest(agent));
    } catch (error) {
      if (isAppError(error, 'invalid')) return false;
      throw error;
    }
  }

  /** Trusts content for a repository from now on. `by`: the person or agent. Trusting it again changes nothing. */
  async trustRoot(repo_root: string, sha256: string, by: string): Promise<void> {
    await this.#insert({ repo_root, sha256, trusted_by: by, trusted_at: this.#deps.clock.now() });
  }

  /** Does the same for a directory that a person names. Throws `invalid` if that is not a repository. */
  async trust(
    directory: string,
    sha256: string,
    by: string,
    saveResponse?: SaveResponse,
  ): Promise<Trusted> {
    const { root: repo_root } = await this.#named(directory);
    const trusted_at = this.#deps.clock.now();
    return this.#insert({ repo_root, sha256, trusted_by: by, trusted_at }, saveResponse);
  }

  /**
   * Withdraws the trust in one content of a repository, or of all if `sha256` is null; returns what was withdrawn.
   * Throws `not_found` if that content was not trusted.
   */
  async untrust(
    directory: string,
    sha256: string | null,
    saveResponse?: SaveResponse,
  ): Promise<{ repo_root: string; withdrawn: Trusted[] }> {
    // The repository may be gone; then the path under which the content was trusted is used.
    const repo_root = await this.#named(directory).then(
      ({ root }) => root,
      () => path.resolve(directory),
    );
    return this.#deps.db.transact((tx) => {
      const all = this.#trusted.where(tx, 'repo_root = ?', repo_root);
      const withdrawn = all.filter((one) => sha256 === null || one.sha256 === sha256);
      if (withdrawn.length === 0 && sha256 !== null)
        throw notFoundError(
          `content with the SHA-256 ${sha256} is not trusted for the repository ${repo_root}`,
        );
      for (const one of withdrawn) this.#trusted.delete(tx, trustId(one));
      return { repo_root, withdrawn };
    }, saveResponse);
  }

  list({ limit, cursor, repo_root }: QueryOf<typeof listTrusted>): Promise<RecordPage<Trusted>> {
    return this.#deps.db.read((rx) => this.#trusted.page(rx, { repo_root }, limit, cursor));
  }

  /**
   * Returns everything that a repository brings and that a person has to trust. With `templates`, returns the templates with
   * these names instead, or all; with `handoff`, the consent to handoffs to that agent. Throws `invalid` if the directory is
   * not a repository, or the agent is unknown.
   */
  async brings(
    directory: string,
    { templates, handoff }: Pick<BodyOf<typeof lookAtBrought>, 'templates' | 'handoff'> = {},
  ): Promise<{ repo_root: string; brings: Brought[] }> {
    const repository = await this.#named(directory);
    const { root: repo_root } = repository;
    const brings: Brought[] = [];
    const add = async (
      kind: Brought['kind'],
      name: string,
      content: string | Buffer,
      sha256 = sha256Of(content),
    ) => {
      const trusted = await this.isTrusted(repo_root, sha256);
      brings.push({ kind, name, sha256, text: content.toString(), trusted });
    };
    if (handoff) {
      const agent = this.#deps.agentName(handoff);
      await add('handoff', agent, handoffText(agent), handoffDigest(agent));
      return { repo_root, brings };
    }
    if (templates) {
      for (const { name, content, sha256 } of await committedTemplates(repository, templates))
        await add('template', name, content, sha256);
      return { repo_root, brings };
    }
    const { script, patterns } = await this.committedIn(repository);
    if (script !== null) await add('init_script', this.#deps.script(), script.content);
    if (patterns !== null) await add('included_files', PATTERNS_FILE, patterns.content);
    const filters = filtersIn(await ownSettings(repository));
    if (filters.length > 0) await add('filters', 'git config', filtersText(filters));
    return { repo_root, brings };
  }

  /**
   * Returns the patterns of the ignored files that new worktrees get, and the init script, as committed in the main
   * worktree; null for what is not there, or not wanted.
   */
  async committedIn(
    repository: Repository,
    wanted: { patterns?: boolean; script?: boolean } = {},
  ): Promise<{ patterns: Committed | null; script: Committed | null }> {
    const list = {
      file: PATTERNS_FILE,
      what: 'the list of included files',
      without: 'set copy_included to false',
    };
    const program = {
      file: this.#deps.script(),
      what: 'the init script',
      without: 'set run_init_script to false',
    };
    const [patterns = null, script = null] = await committedFiles(repository, [
      wanted.patterns === false ? null : list,
      wanted.script === false ? null : program,
    ]);
    return { patterns, script };
  }

  isTrusted(repo_root: string, sha256: string): Promise<boolean> {
    return this.#deps.db.read(
      (rx) => this.#trusted.get(rx, trustId({ repo_root, sha256 })) !== undefined,
    );
  }

  #named(directory: string): Promise<Repository> {
    return findRepository(this.#deps.git, path.resolve(directory), { isNamed: true });
  }

  #insert(trusted: Trusted, saveResponse?: SaveResponse): Promise<Trusted> {
    return this.#deps.db.transact((tx) => {
      const before = this.#trusted.get(tx, trustId(trusted));
      if (!before) this.#trusted.insert(tx, trusted);
      tx.whenDurable(this.#notifyTrusted);
      return before ?? trusted;
    }, saveResponse);
  }
}

function trustId({ repo_root, sha256 }: Pick<Trusted, 'repo_root' | 'sha256'>): string {
  return `${sha256} ${repo_root}`;
}
