import { isIPv4 } from 'node:net';
import { z } from 'zod';

/** The name under which `approvals.notify_command` is a hook. */
export const NOTIFY_HOOK = 'notify_command';

/** The longest time that one attempt may take, in ms. */
const MAX_TIMEOUT_MS = 600_000;

/** An address of this machine alone, as URLs write it. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'));
}

/** Returns the problem of a hook's address; null if there is none. */
function objectionTo(text: string): string | null {
  if (!URL.canParse(text)) return 'has to be a URL';
  const { protocol, hostname, username, password, hash } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') return 'has to start with https:// or http://';
  if (username !== '' || password !== '')
    return 'must not contain a user name or password: requests are authenticated by their signature';
  if (hash !== '') return 'must not contain "#"';
  if (protocol === 'http:' && !isLoopbackHost(hostname))
    return 'has to start with https://: http:// is only for addresses of this machine (127.0.0.1, [::1], localhost)';
  return null;
}

const hookUrl = z.string().superRefine((text, found) => {
  const message = objectionTo(text);
  if (message !== null) found.addIssue({ code: 'custom', message });
});

/** The address under which the page of links is reached: no more than a scheme and a host. */
export const linkBase = z.string().superRefine((text, found) => {
  if (!URL.canParse(text) || !/^https?:\/\/[^/\\?#@\s]+\/?$/i.test(text))
    found.addIssue({
      code: 'custom',
      message: 'invalid address: expected https://HOST or http://HOST:PORT, without a path',
    });
});

/** The origin under which links to approvals are opened; null: as everything else. */
export function linkOrigin({
  link_base_url: base,
}: {
  link_base_url: string | null;
}): string | null {
  return base === null ? null : new URL(base).origin;
}

/** One of `[[hooks]]`. */
export const hookSection = z
  .strictObject({
    /** Name in lists, and key of the hook's position in the log. */
    name: z
      .string()
      .regex(
        /^[a-z0-9][a-z0-9_-]{0,62}$/,
        'has to be 1 to 63 lowercase letters, digits, "-" or "_"',
      )
      .refine(
        (name) => name !== NOTIFY_HOOK,
        `"${NOTIFY_HOOK}" is reserved for the hook of [approvals]`,
      ),
    /** False: no event is delivered. Once it is true again, delivery continues at the same position. */
    enabled: z.boolean().default(true),
    /**
     * Kinds of events, such as `turn.completed`, all of a group as `approval.*`, or `*`. The parts of a text that is still
     * being written are never delivered.
     */
    kinds: z
      .array(
        z
          .string()
          .regex(
            /^(\*|[a-z_]+\.(\*|[a-z_]+))$/,
            'has to be a kind such as "turn.completed", a group such as "turn.*", or "*"',
          ),
      )
      .min(1)
      .max(100),
    /** Only events of this session, by its whole id. */
    session: z.string().min(1).nullable().default(null),
    /** Only events of this team, by its whole id. */
    team: z.string().min(1).nullable().default(null),
    /** Only events of this process, by its whole id. */
    process: z.string().min(1).nullable().default(null),
    /** Only events of this worktree, by its whole id. */
    worktree: z.string().min(1).nullable().default(null),
    /** A command of the shell, which gets the event as JSON on its stdin. */
    command: z.string().min(1).nullable().default(null),
    /** An address that gets the event by POST: https, or http on this machine. */
    url: hookUrl.nullable().default(null),
    /** The file with the secret that signs each POST, which only its owner may read. */
    secret_file: z.string().min(1).nullable().default(null),
    /** The time that one attempt may take, in ms. */
    timeout_ms: z.int().min(100).max(MAX_TIMEOUT_MS).default(30_000),
    /** Whether an event `approval.requested` brings a link that answers it, once. */
    link: z.boolean().default(false),
  })
  .superRefine((hook, found) => {
    const say = (path: string, message: string) =>
      found.addIssue({ code: 'custom', path: [path], message });
    if ((hook.command === null) === (hook.url === null))
      say('command', 'a hook requires either a command or a url');
    if (hook.url !== null && hook.secret_file === null)
      say('secret_file', 'is required with url: each POST is signed');
    const scopes = [hook.session, hook.team, hook.process, hook.worktree];
    if (scopes.filter((one) => one !== null).length > 1)
      say('session', 'a hook accepts only one of session, team, process and worktree');
  });
