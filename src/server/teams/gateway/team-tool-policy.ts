import path from 'node:path';
import type { Session } from '../../../api/sessions.ts';
import type { Message } from '../../../api/team-messages.ts';
import { policies } from '../delivery.ts';
import type { Admission } from '../spawn.ts';
import { type Effect, type Circumstances, verdictOf } from './tool-policy-table.ts';
import { type ToolPolicy, inputDetails, type Question } from './tool-policy.ts';
import type { SessionCaller } from './toolkit.ts';
import type { InputItem } from '../../../api/input.ts';
import type { FileOutside } from '../../../core/children/sandbox/files.ts';
import { isInside, realPath } from '../../../core/lib/paths.ts';
import { invalidError } from '../../../api/errors.ts';
import { ForeignFileError, readForeignFile } from '../../../core/lib/foreign-file.ts';
import { MAX_IMAGE_BYTES } from '../../conversations/sessions/blobs.ts';

/** The init scripts of repositories, and which of them a person has consented to. */
export interface InitScripts {
  /** Returns the script, with its text, that a new worktree would run; null if the repository has none. */
  look(request: { source_session_id: string; worktree_name: string }): Promise<InitScript | null>;
  /** Records consent to this content of the script for a repository. */
  trustRoot(repo_root: string, sha256: string, by: string): Promise<void>;
}

interface InitScript {
  repo_root: string;
  sha256: string;
  text: string;
  trusted: boolean;
}

/** An agent's description of the member that it wants to add. */
export interface MemberArgs {
  title?: string | null | undefined;
  prompt?: string | null | undefined;
  model_preset?: string | null | undefined;
  provider?: Session['provider'] | null | undefined;
  agent?: string | null | undefined;
  worktree_name?: string | null | undefined;
  image_paths?: string[] | null | undefined;
}

interface TeamToolPolicyDeps {
  toolPolicy: ToolPolicy;
  previewWorktree: (
    cwd: string,
    name: string,
  ) => Promise<{ repo_root: string; worktree_name: string; branch: string }>;
  /** Whether a repository has a worktree of this name that a member can use. */
  hasWorktree: (repo_root: string, name: string) => Promise<boolean>;
  initScripts: InitScripts;
  /** Returns what the sandbox of the agent of a session shows; undefined: the agent has no sandbox. */
  filesOf: (session: Session) => FileOutside | undefined;
}

/** Checks the effects of the team tools: messages and new members, with images, worktrees and init scripts. */
export class TeamToolPolicy {
  readonly #deps: TeamToolPolicyDeps;

  constructor(deps: TeamToolPolicyDeps) {
    this.#deps = deps;
  }

  /** Resolves with the images of a message once it may be sent. Throws if it may not. */
  async message(
    caller: SessionCaller,
    args: {
      team_id: string;
      recipient_agent_id: string;
      message: string;
      image_paths?: string[] | null | undefined;
      policy?: Message['policy'] | null | undefined;
    },
  ): Promise<InputItem[]> {
    const tool = 'cadre_team_message';
    const files = await this.#locate(args.image_paths, caller.session);
    const interrupts = policies[args.policy ?? 'non_interrupting'].interrupts !== 'never';
    const effects: Effect[] = [
      { tool, action: 'send' },
      ...(interrupts ? [{ tool, action: 'interrupt' } as const] : []),
      ...files.map((one) => ({ tool, action: imageAction(one) }) as const),
    ];
    await this.#deps.toolPolicy.pass(caller, effects, () => ({
      kind: 'tool',
      title: `send the image ${outside(files)} to ${args.recipient_agent_id}`,
      request: { ...args, images: files },
      details: inputDetails({ ...args, images: files }, ['image_paths']),
    }));
    return readImages(files);
  }

  /**
   * Resolves once a member may be added, with the images of its first message, and with whether the init script of its
   * worktree runs this time without consent to its content. A person who accepts the approval consents for the
   * repository; a mode in which nobody is asked lets the script run once. Throws if the member may not be added.
   */
  async member(caller: SessionCaller, args: MemberArgs & { team_id: string }): Promise<Admission> {
    const tool = 'cadre_team_manage';
    const { session } = caller;
    const { worktree_name: name } = args;
    const files = await this.#locate(args.image_paths, session);
    const worktree = name ? await this.#deps.previewWorktree(session.cwd, name) : null;
    const isReused =
      worktree !== null &&
      (await this.#deps.hasWorktree(worktree.repo_root, worktree.worktree_name));
    const circumstances = await this.#deps.toolPolicy.circumstances(caller);
    const script = name ? await this.#scriptFor(session, name, circumstances) : null;
    const effects: Effect[] = [
      { tool, action: 'add_member' },
      ...files.map((one) => ({ tool, action: imageAction(one) }) as const),
      ...(worktree ? [{ tool, action: 'create_worktree' } as const] : []),
      ...(script && !script.trusted ? [{ tool, action: 'run_init_script' } as const] : []),
    ];
    const verdict = await this.#deps.toolPolicy.pass(caller, effects, () =>
      questionFor(args, { files, worktree, isReused, script }),
    );
    const needsConsent = script !== null && !script.trusted;
    if (needsConsent && verdict === 'ask')
      await this.#deps.initScripts.trustRoot(script.repo_root, script.sha256, session.id);
    return { images: await readImages(files), runsScript: needsConsent && verdict === 'free' };
  }

  #locate(paths: MemberArgs['image_paths'], session: Session): Promise<ImageFile[]> {
    return locateImages(paths, session.cwd, this.#deps.filesOf(session));
  }

  /** Returns the script that will run; null if there is none, or if nobody consents, so that it is skipped. */
  async #scriptFor(
    { id }: Session,
    worktree_name: string,
    circumstances: Circumstances,
  ): Promise<InitScript | null> {
    const found = await this.#deps.initScripts.look({ source_session_id: id, worktree_name });
    if (!found || found.trusted) return found ?? null;
    const effect = { tool: 'cadre_team_manage', action: 'run_init_script' } as const;
    // The operator consents with a separate command.
    const isDecided =
      circumstances.asked !== 'operator' && verdictOf(effect, circumstances) !== 'refuse';
    return isDecided ? found : null;
  }
}

function questionFor(
  args: MemberArgs,
  about: {
    files: readonly ImageFile[];
    worktree: { repo_root: string; worktree_name: string; branch: string } | null;
    isReused: boolean;
    script: InitScript | null;
  },
): Question {
  const { files, worktree, isReused, script } = about;
  const parts = [
    `add a member${args.title ? ` "${args.title}"` : ''}`,
    ...(worktree
      ? [
          `${isReused ? 'use' : 'create'} the worktree ${worktree.worktree_name} (${worktree.branch}) of ${worktree.repo_root}`,
        ]
      : []),
    ...(script ? ['run its init script'] : []),
    ...(files.some((one) => !one.isInside) ? [`send it the image ${outside(files)}`] : []),
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
    details: [
      ...inputDetails(args, ['image_paths', 'worktree_name']),
      ...inputDetails({ worktree, images: files.length > 0 ? files : null }),
      ...inputDetails({ init_script: script?.text }),
    ],
  };
}

function imageAction(image: ImageFile): 'image_inside_cwd' | 'image_outside_cwd' {
  return image.isInside ? 'image_inside_cwd' : 'image_outside_cwd';
}

function outside(files: readonly ImageFile[]): string {
  return files
    .filter((one) => !one.isInside)
    .map(({ real }) => real)
    .join(', ');
}

interface ImageFile {
  /** The absolute path that the agent means; a relative one starts at the directory of its session. */
  path: string;
  /** The path with all symbolic links resolved. */
  real: string;
  /** Whether the resolved path is below the directory of the session. */
  isInside: boolean;
}

/**
 * Resolves the paths of image files. A missing file is only reported when it is read. Throws `invalid` for a file that the
 * sandbox of the agent does not show.
 */
export function locateImages(
  paths: readonly string[] | null | undefined,
  cwd: string,
  fileOutside: FileOutside = realPath,
): Promise<ImageFile[]> {
  return Promise.all(
    (paths ?? []).map(async (name) => {
      const named = path.resolve(cwd, name);
      const real = await fileOutside(named);
      if (real === null)
        throw invalidError(
          `cannot read the image ${named}: the sandbox of the session does not show this file`,
        );
      return { path: named, real, isInside: real !== cwd && isInside(real, cwd) };
    }),
  );
}

/** Reads images at their resolved paths without links: the approved file is the file that is read. Throws `invalid`. */
export function readImages(files: readonly ImageFile[]): Promise<InputItem[]> {
  return Promise.all(
    files.map(async (file) => ({
      type: 'image' as const,
      data: (await bytesOf(file)).toString('base64'),
    })),
  );
}

async function bytesOf({ path: named, real }: ImageFile): Promise<Buffer> {
  const failed = (why: string) => invalidError(`cannot read the image ${named}: ${why}`);
  try {
    const name = path.relative('/', real);
    const bytes = await readForeignFile('/', name, { maxBytes: MAX_IMAGE_BYTES });
    if (bytes) return bytes;
  } catch (error) {
    if (error instanceof ForeignFileError) throw failed(error.message);
    throw failed((error as NodeJS.ErrnoException).code ?? 'unknown error');
  }
  throw failed('no such file');
}
