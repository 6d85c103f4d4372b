import type { InputItem, Session } from '../api/sessions.ts';
import type { Admission } from '../teams/spawn.ts';
import type { Effect, Circumstances } from './gate.ts';
import { verdictOf } from './gate.ts';
import type { Gatekeeper, Question } from './gatekeeper.ts';
import { type ImageFile, locateImages, readImages } from './image-files.ts';
import type { Caller } from './toolkit.ts';

/** The policies that end the turn of who gets the message. */
const INTERRUPTING: ReadonlySet<string> = new Set([
  'interrupt_after_tool_boundary',
  'immediate_interrupt',
]);

/** The init scripts of repositories, and which of them have been consented to. */
export interface InitScripts {
  /** The script that a worktree made now would run, with its text; null where the repository has none. */
  look(wanted: { source_session_id: string; worktree_name: string }): Promise<InitScript | null>;
  /** Consents to the script with that content in a repository. */
  allow(repo_root: string, sha256: string, by: string): Promise<void>;
}

interface InitScript {
  repo_root: string;
  sha256: string;
  text: string;
  trusted: boolean;
}

/** What an agent says of the member that it wants. */
interface MemberArgs {
  team_id: string;
  title?: string | null | undefined;
  prompt?: string | null | undefined;
  model_preset?: string | null | undefined;
  provider?: Session['provider'] | null | undefined;
  worktree_name?: string | null | undefined;
  image_paths?: string[] | null | undefined;
}

interface TeamGateDependencies {
  gatekeeper: Gatekeeper;
  previewWorktree: (
    cwd: string,
    name: string,
  ) => Promise<{ repo_root: string; worktree_name: string; branch: string }>;
  initScripts: InitScripts;
}

/** Brings what the team tools cause before the gate: messages and new members, with images, worktrees, init scripts. */
export class TeamGate {
  readonly #given: TeamGateDependencies;

  constructor(given: TeamGateDependencies) {
    this.#given = given;
  }

  /** Resolves with the images of a message once it may be sent. Throws where it may not. */
  async message(
    caller: Caller,
    args: {
      team_id: string;
      recipient_agent_id: string;
      message: string;
      image_paths?: string[] | null | undefined;
      policy?: string | null | undefined;
    },
  ): Promise<InputItem[]> {
    const tool = 'cadre_team_message';
    const files = await locateImages(args.image_paths, caller.session.cwd);
    const interrupts = INTERRUPTING.has(args.policy ?? '');
    const effects: Effect[] = [
      { tool, action: 'send' },
      ...(interrupts ? [{ tool, action: 'interrupt' } as const] : []),
      ...files.map(({ isInside }) => ({ tool, action: imageAction(isInside) }) as const),
    ];
    await this.#given.gatekeeper.pass(caller, effects, () => ({
      kind: 'tool',
      title: `send the image ${outside(files)} to ${args.recipient_agent_id}`,
      request: { ...args, images: files },
    }));
    return readImages(files);
  }

  /**
   * Resolves once a member may be added, with the images of its first message, and with whether its worktree's init
   * script runs this time though nobody has consented to its content. A person who accepts the approval consents for
   * the repository; a mode in which nobody is asked lets the script run once. Throws where the member may not be added.
   */
  async member(caller: Caller, args: MemberArgs): Promise<Admission> {
    const tool = 'cadre_team_manage';
    const { session } = caller;
    const { worktree_name: name } = args;
    const files = await locateImages(args.image_paths, session.cwd);
    const worktree = name ? await this.#given.previewWorktree(session.cwd, name) : null;
    const given = await this.#given.gatekeeper.circumstances(caller);
    const script = name ? await this.#scriptFor(session, name, given) : null;
    const effects: Effect[] = [
      { tool, action: 'add_member' },
      ...files.map(({ isInside }) => ({ tool, action: imageAction(isInside) }) as const),
      ...(worktree ? [{ tool, action: 'create_worktree' } as const] : []),
      ...(script && !script.trusted ? [{ tool, action: 'run_init_script' } as const] : []),
    ];
    const verdict = await this.#given.gatekeeper.pass(caller, effects, () =>
      questionFor(args, { files, worktree, script }),
    );
    const needsConsent = script !== null && !script.trusted;
    if (needsConsent && verdict === 'ask')
      await this.#given.initScripts.allow(script.repo_root, script.sha256, session.id);
    return { images: await readImages(files), runsScript: needsConsent && verdict === 'free' };
  }

  /** The script that will run; null where there is none, or nobody consents to it: then it is skipped. */
  async #scriptFor(
    { id }: Session,
    worktree_name: string,
    given: Circumstances,
  ): Promise<InitScript | null> {
    const found = await this.#given.initScripts.look({ source_session_id: id, worktree_name });
    if (!found || found.trusted) return found ?? null;
    const effect = { tool: 'cadre_team_manage', action: 'run_init_script' } as const;
    // The operator consents by a command of its own.
    const isDecided = given.asked !== 'operator' && verdictOf(effect, given) !== 'refuse';
    return isDecided ? found : null;
  }
}

function questionFor(
  args: MemberArgs,
  about: {
    files: readonly ImageFile[];
    worktree: { repo_root: string; worktree_name: string; branch: string } | null;
    script: InitScript | null;
  },
): Question {
  const { files, worktree, script } = about;
  const parts = [
    `add a member${args.title ? ` "${args.title}"` : ''}`,
    ...(worktree
      ? [
          `make the worktree ${worktree.worktree_name} (${worktree.branch}) of ${worktree.repo_root}`,
        ]
      : []),
    ...(script ? ['run its init script'] : []),
    ...(files.some(({ isInside }) => !isInside) ? [`send it the image ${outside(files)}`] : []),
  ];
  return {
    kind: script ? 'command' : 'tool',
    title: parts.join(', '),
    request: {
      ...args,
      worktree,
      init_script: script && { sha256: script.sha256, text: script.text },
      images: files,
    },
  };
}

function imageAction(isInside: boolean): 'image_inside_cwd' | 'image_outside_cwd' {
  return isInside ? 'image_inside_cwd' : 'image_outside_cwd';
}

/** The images that lie elsewhere than where the session works. */
function outside(files: readonly ImageFile[]): string {
  return files
    .filter(({ isInside }) => !isInside)
    .map(({ real }) => real)
    .join(', ');
}
