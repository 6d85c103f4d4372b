import fs from 'node:fs/promises';
import path from 'node:path';
import { AppError, invalidError } from '../../../api/errors.ts';
import type { SandboxStatus } from '../../../api/runtime.ts';
import type { SessionSandbox } from '../../../api/session-sandbox.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { HeldRecord } from '../shim/frames.ts';
import type { BarrierSandbox, KeptSandbox } from '../spawn-barrier.ts';
import { isInside, realPath } from '../../lib/paths.ts';
import { removeTree } from '../../lib/remove-tree.ts';
import { Undo } from '../../lib/undo.ts';
import type { Networks } from './network/networks.ts';
import {
  createMissing,
  createMountPoints,
  type FileOutside,
  filesOutside,
  findExisting,
} from './files.ts';
import { findGitDirectories } from './git-directories.ts';
import { GIT_SETTINGS, standInOf } from './git-stand-in.ts';
import { removeGitLinks } from './link-sweep.ts';
import { directoriesOf, type HostPaths, type HostView, readHostView } from './host-view.ts';
import { hasProxy, NETWORK_TEXTS, planOf, type SandboxVariant, writerOptions } from './plan.ts';
import { type PrivateDirs, privateDirsIn, ownerOf, scratchOf } from './private-directories.ts';
import {
  NOTHING_MORE,
  type SandboxedAgent,
  type SandboxedClass,
  type SandboxRequest,
  type SandboxSettings,
} from './requests.ts';
import { PROBE_PREFIX, type SandboxLevel, writeFilter } from './probe.ts';
import { NESTS_AS_ROOT, textOf } from './reasons.ts';

interface SandboxDependencies {
  settings: SandboxSettings;
  paths: HostPaths;
  networks: Networks;
  probe: (directory: string) => Promise<SandboxLevel>;
  clock: Clock;
  logger: Logger;
}

type AvailableLevel = Exclude<SandboxLevel, { level: 'none' }>;

/** The time between two probes of the machine, in milliseconds. */
const AGAIN_MS = 10_000;
/** The age at which the facts about the files of the host are read again, in milliseconds. */
const VIEW_MS = 10_000;

/** Plans the sandboxes of children. A server probes its machine once, and again after failures. */
export class Sandbox {
  readonly #deps: SandboxDependencies;
  #probed: Promise<SandboxLevel> | undefined;
  #probedAt = 0;
  /** Whether the configuration, a session or a child of an earlier server uses a sandbox. */
  #isUsed: boolean;
  #level: SandboxLevel | undefined;
  /** The visible files of running agents, by their own directories. */
  readonly #filesOfAgents = new Map<string, FileOutside>();
  #view: { read: Promise<HostView>; at: number } | undefined;

  constructor(deps: SandboxDependencies) {
    this.#deps = deps;
    this.#isUsed = deps.settings.mode !== 'off';
  }

  get status(): SandboxStatus {
    const { mode } = this.#deps.settings;
    if (mode === 'off') return { mode, level: 'off' };
    if (!this.#level) return { mode, level: 'unknown' };
    const detail = detailOf(this.#level);
    return { mode, level: this.#level.level, ...(detail === null ? {} : { detail }) };
  }

  /** Probes the machine, unless nothing uses a sandbox. */
  async open(): Promise<void> {
    if (this.#isUsed) await this.#probe();
  }

  /**
   * Resolves with the sandbox of a child; null if the child runs without one. Throws `sandbox_unavailable` if the
   * configuration requires a sandbox that the machine does not allow, and `invalid` for a directory that no sandbox can have.
   */
  async planFor(
    childClass: Exclude<SandboxedClass, 'agents'>,
    request: SandboxRequest,
  ): Promise<BarrierSandbox | null> {
    const settings = this.#settingsFor(request.chosen);
    const level = await this.#levelFor(childClass, settings);
    if (level === null) return null;
    const { read, write, hide, network, hosts, nests } = settings;
    const { home } = this.#deps.paths;
    const more = (request.read ?? []).filter((one) => !isInside(home, one));
    return this.#plan(level, false, {
      ...request,
      isReadOnly: false,
      read: [...read, ...more],
      write,
      hide,
      scratch: [],
      network,
      hosts,
      nests,
    });
  }

  /** Whether the agent of a session runs in a sandbox. */
  holdsAgent(chosen: SessionSandbox | undefined): boolean {
    const { mode, children } = this.#settingsFor(chosen);
    return mode !== 'off' && children.includes('agents') && this.#level?.level !== 'none';
  }

  /**
   * Resolves with the sandbox of an agent, as `planFor` does. Throws `sandbox_unavailable` for an agent whose section forbids
   * a network.
   */
  async planForAgent(request: SandboxedAgent): Promise<BarrierSandbox | null> {
    const settings = this.#settingsFor(request.chosen);
    const level = await this.#levelFor('agents', settings);
    if (level === null) return null;
    const { paths } = this.#deps;
    const { root, own, isReadOnly, section, programs, state, scratch, pinned } = request;
    const more = request.more ?? NOTHING_MORE;
    if (more.network === 'none')
      throw new AppError(
        'sandbox_unavailable',
        `${section}.sandbox.network is "none", so the agent reaches neither its model nor the tools of cadre: set the key to "hosts", "ask" or "all"`,
      );
    const wanted = request.chosen?.network ?? more.network ?? settings.network;
    // Without a network, an agent could only fail: it reaches its model and the tools, and nothing else.
    const network = wanted === 'none' ? 'hosts' : wanted;
    const shared = wanted === 'none' ? [] : settings.hosts;
    for (const one of [...state, ...scratch]) await fs.mkdir(one, { recursive: true, mode: 0o700 });
    for (const one of pinned) await createMissing(one);
    const shown = await Promise.all(programs.map((one) => directoriesOf(one, paths.home)));
    const plan = await this.#plan(level, true, {
      root,
      cwd: root,
      own,
      isReadOnly,
      network,
      read: [
        ...settings.read,
        ...more.read,
        ...shown.flat(),
        ...request.settings,
        ...pinned.map((one) => one.path),
      ],
      write: [...settings.write, ...more.write, ...state],
      hide: [...settings.hide, ...more.hide],
      hosts: [...shared, ...more.hosts, ...request.hosts],
      scratch,
      nests: more.nests ?? settings.nests,
    });
    this.#showFilesOf(plan.kept);
    return plan;
  }

  /** Continues with the sandboxes of children that an earlier server has left. */
  async restore(children: readonly HeldRecord[]): Promise<void> {
    const sandboxes = children.flatMap(({ about }) => about.sandbox ?? []);
    this.#isUsed ||= sandboxes.length > 0;
    for (const one of sandboxes) if (one.isAgent) this.#showFilesOf(one);
    await this.#deps.networks.restore(children);
  }

  #showFilesOf({ owner, mounts }: KeptSandbox): void {
    this.#filesOfAgents.set(owner, filesOutside(mounts));
  }

  /** Returns what the sandbox of the agent of a session shows; undefined: the agent has none. */
  filesOfAgent(session_id: string): FileOutside | undefined {
    return this.#filesOfAgents.get(path.join(this.#directory, session_id));
  }

  /** Describes the sandbox of processes of a session for people who decide about them. Null: the configuration wants none. */
  async describe(root: string, chosen: SessionSandbox | undefined): Promise<string | null> {
    const { mode, children, network, write } = this.#settingsFor(chosen);
    if (mode === 'off' || !children.includes('tools')) return null;
    const { level } = await this.#probe();
    if (level === 'none') return 'none: the command runs with all rights of the server';
    return `${level}: the command writes ${[root, ...write].join(', ')}, and reaches ${NETWORK_TEXTS[network]}`;
  }

  /** Whether processes of a session can run without an approval, because they run in a full sandbox without a network. */
  async allowsTools(chosen: SessionSandbox | undefined): Promise<boolean> {
    const { mode, children, network, auto_allow } = this.#settingsFor(chosen);
    const isWanted = auto_allow && mode !== 'off' && children.includes('tools');
    return isWanted && network === 'none' && (await this.#probe()).level === 'full';
  }

  /** Returns the settings for a session. A sandbox of its own holds its agent, its processes and init scripts for it. */
  #settingsFor(chosen: SessionSandbox | undefined): SandboxSettings {
    const { settings } = this.#deps;
    if (!chosen) return settings;
    return {
      ...settings,
      mode: chosen.mode,
      children: [...settings.children, 'agents', 'tools', 'init'],
      network: chosen.network ?? settings.network,
      hosts: [...settings.hosts, ...chosen.hosts],
      write: [...settings.write, ...chosen.write],
    };
  }

  /** Resolves with the level for a class. Null: its children run without a sandbox. */
  async #levelFor(
    childClass: SandboxedClass,
    { mode, children }: SandboxSettings,
  ): Promise<AvailableLevel | null> {
    if (mode === 'off' || !children.includes(childClass)) return null;
    const level = await this.#probe();
    if (level.level !== 'none') return level;
    if (mode === 'auto') return null;
    throw new AppError(
      'sandbox_unavailable',
      `sandbox.mode is "require", but no sandbox is available, because ${detailOf(level)}`,
    );
  }

  async #plan(
    level: AvailableLevel,
    isAgent: boolean,
    request: SandboxRequest &
      Pick<SandboxSettings, 'read' | 'write' | 'hide' | 'network' | 'hosts' | 'nests'> &
      Pick<SandboxedAgent, 'scratch' | 'isReadOnly'>,
  ): Promise<BarrierSandbox> {
    const { nests, network, hosts, own } = request;
    const root = await this.#rootOf(request.root);
    const scratch = await scratchOf(request.scratch, own);
    const [view, read, write, hide, repository, cwd] = await Promise.all([
      this.#readView(),
      findExisting(request.read),
      findExisting(request.write),
      findExisting(request.hide),
      findGitDirectories(root),
      realPath(request.cwd),
    ]);
    const standIn = request.isReadOnly ? null : await standInOf(root, repository, own);
    const plan = planOf({
      ...request,
      view,
      variant: await this.#variantFor(level, nests),
      root,
      cwd,
      read,
      write,
      hide,
      scratch,
      repository,
      standIn,
      maxProcesses: this.#deps.settings.max_processes,
    });
    for (const one of [own.home, own.tmp]) await fs.mkdir(one, { recursive: true, mode: 0o700 });
    await createMountPoints(ownerOf(own), plan.mountPoints);
    const kept = { owner: ownerOf(own), isAgent, network, hosts, mounts: plan.mounts };
    const inNetwork = hasProxy(network) ? await this.#deps.networks.wordsFor(kept) : [];
    return {
      words: [...inNetwork, level.program, ...plan.words],
      filter: plan.filter,
      gitSettings: standIn === null ? {} : GIT_SETTINGS,
      kept,
      onFailure: () => this.#failed(),
    };
  }

  /** Resolves with the variant for a child that may create namespaces or not. Throws `sandbox_unavailable` if it may, and the server is of root. */
  async #variantFor({ variant }: AvailableLevel, nests: boolean): Promise<SandboxVariant> {
    if (nests === this.#deps.settings.nests) return variant;
    if (nests && process.geteuid?.() === 0)
      throw new AppError('sandbox_unavailable', textOf(NESTS_AS_ROOT));
    return { ...variant, filter: await writeFilter(this.#directory, process.arch, nests) };
  }

  /** Returns the private directories of the processes of a session, of an external caller, or of users. */
  privateDirectories(owner: { session_id: string | null; caller_id: string | null }): PrivateDirs {
    const { session_id, caller_id } = owner;
    const name = session_id ?? (caller_id === null ? 'user' : `caller-${caller_id}`);
    return privateDirsIn(path.join(this.#directory, name));
  }

  /**
   * Publishes ports of a child on this machine, until the result is disposed. A child with the network of this machine needs
   * nothing. Throws `invalid` for a sandbox without a network, and `conflict` for a port that this machine uses.
   */
  async publish(sandbox: KeptSandbox | null, ports: readonly number[]): Promise<AsyncDisposable> {
    if (sandbox === null || sandbox.network === 'all' || ports.length === 0) return new Undo();
    if (hasProxy(sandbox.network)) return this.#deps.networks.publish(sandbox.owner, ports);
    throw invalidError(
      'ports: the sandbox has no network, so no program outside reaches its ports: set the network of the sandbox to "hosts", which reaches only the listed hosts',
    );
  }

  /** Resolves with the words before a command of the server that writes only below directories; none if nothing uses a sandbox. */
  async wordsForWriter(directories: readonly string[]): Promise<readonly string[]> {
    if (!this.#isUsed) return [];
    const level = await this.#probe();
    return level.level === 'none' ? [] : [level.program, ...writerOptions(directories)];
  }

  /** Removes what processes of a sandbox have left in a worktree, and git outside would follow. */
  async sweep(root: string): Promise<void> {
    await removeGitLinks(root).catch((error: unknown) =>
      this.#deps.logger.warn({ err: error, root }, 'cannot remove links in a git directory'),
    );
  }

  /** Closes the network of processes that have these own directories. */
  closeNetwork(own: PrivateDirs): Promise<void> {
    return this.#deps.networks.close(ownerOf(own));
  }

  /** Closes the network of a session, and removes its own directories once its children have ended. */
  async removeSession(id: string, ended: Promise<unknown>): Promise<void> {
    const directory = path.join(this.#directory, id);
    await this.#deps.networks.close(directory);
    await ended;
    this.#filesOfAgents.delete(directory);
    await removeTree(directory).catch((error: unknown) =>
      this.#deps.logger.warn({ err: error, session_id: id }, 'cannot remove a sandbox'),
    );
  }

  /** Removes the own directories of sessions that are not open, and the files of an interrupted probe. */
  async removeClosed(isOpen: (sessionId: string) => boolean): Promise<void> {
    const names = await fs.readdir(this.#directory).catch(() => []);
    const isLeft = (name: string) =>
      name.startsWith(PROBE_PREFIX) || (name.startsWith('sess_') && !isOpen(name));
    for (const name of names.filter(isLeft)) await this.removeSession(name, Promise.resolve());
  }

  get #directory(): string {
    return path.join(this.#deps.paths.dataDirectory, 'sandbox');
  }

  #probe(): Promise<SandboxLevel> {
    this.#isUsed = true;
    return (this.#probed ??= this.#probeOnce());
  }

  /** Probes again after a child that bubblewrap did not start, because the settings of the machine may have changed. */
  #failed(): void {
    if (this.#deps.clock.monotonic() - this.#probedAt < AGAIN_MS) return;
    this.#probed = this.#probeOnce();
    this.#probed.catch((error: unknown) =>
      this.#deps.logger.error({ err: error }, 'cannot probe the sandbox'),
    );
  }

  async #probeOnce(): Promise<SandboxLevel> {
    const { clock, logger, probe, settings } = this.#deps;
    this.#probedAt = clock.monotonic();
    const made = fs.mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const probed = made.then(() => probe(this.#directory));
    const forget = () => (this.#probed = undefined);
    // An error says nothing about the machine, so the next child probes again. After a time limit, a later one does.
    probed.catch(forget);
    const level = (this.#level = await probed);
    if (level.level !== 'full' && level.isTemporary) clock.after(AGAIN_MS, forget);
    const detail = detailOf(level);
    if (level.level === 'full') logger.info({ level: level.level }, 'the sandbox is available');
    else if (level.level === 'partial') logger.warn({ detail }, 'the sandbox is only partial');
    else if (settings.mode === 'auto')
      logger.warn({ detail }, 'no sandbox is available: child processes run without a sandbox');
    else
      logger.error({ detail }, 'no sandbox is available: child processes that need it are refused');
    return level;
  }

  /**
   * Resolves with a root without links. Sessions have real directories: a link is there only if the directory was replaced.
   * Worktrees may be in a data directory that is a link itself.
   */
  async #rootOf(asked: string): Promise<string> {
    const root = await realPath(asked);
    const { worktrees } = await this.#readView();
    if (root === asked || isInside(root, worktrees)) return root;
    throw invalidError(
      `cwd "${asked}" was replaced by a link to "${root}": use the directory itself`,
    );
  }

  #readView(): Promise<HostView> {
    const { clock, paths } = this.#deps;
    const now = clock.monotonic();
    if (!this.#view || now - this.#view.at > VIEW_MS)
      this.#view = { read: readHostView(paths), at: now };
    return this.#view.read;
  }
}

/** Returns why a level is not full, with what helps; null if it is full. */
function detailOf(level: SandboxLevel): string | null {
  return level.level === 'full' ? null : textOf(level);
}
