import path from 'node:path';
import type { Client } from '../../client/client.ts';
import { count } from './count.ts';
import type { Reading } from './endpoint-command.ts';
import {
  budgetArgument,
  budgetId,
  deliveryId,
  entryArgument,
  entryId,
  idArgument,
  lastTurn,
  memberId,
  messageId,
  processArgument,
  processId,
  ruleArgument,
  ruleId,
  sessionArgument,
  sessionId,
  teamArgument,
  teamId,
  tokenArgument,
  tokenId,
  worktreeArgument,
  worktreeId,
} from './find.ts';

export const session = idAs('session_id', ...sessionArgument, sessionId);
export const process = idAs('process_id', ...processArgument, processId);
export const team = idAs('team_id', ...teamArgument, teamId);
export const rule = idAs('rule_id', ...ruleArgument, ruleId);
export const entry = idAs('entry_id', ...entryArgument, entryId);
export const budget = idAs('budget_id', ...budgetArgument, budgetId);
export const token = idAs('token_id', ...tokenArgument, tokenId);
export const worktree = idAs('worktree_id', ...worktreeArgument, worktreeId);

/** A message of the team that an earlier parameter names. */
export const message = messageAs('message_id', ...idArgument('message'));

/** A delivery of the team that an earlier parameter names. */
export const delivery = idAs('delivery_id', ...idArgument('delivery'), (client, end, { team_id }) =>
  deliveryId(client, end, String(team_id)),
);

/** A turn of the session that an earlier parameter names: by its whole id, or the most recent one. */
export const turn = turnAs(
  '[turn]',
  'Id of the turn (default: the most recent turn of the session)',
);

/** The value of a field of the request, as it is written. */
export function valueOf<const F extends string>(field: F, flags: string, description: string) {
  return { flags, description, field };
}

export const limit = {
  flags: '-L, --limit <n>',
  description: 'Maximum number of results to show',
  field: 'limit',
  parse: count,
  default: 100,
} as const;

export const reason = valueOf(
  'reason',
  '--reason <text>',
  'Reason for the action (cadre stores the reason)',
);

/** A directory of a repository, relative to where the command runs. */
export function repositoryOption(description: string) {
  return {
    flags: '-R, --repo <directory>',
    description,
    read: (directory: string) => ({ repo_root: path.resolve(directory) }),
  };
}

/** Image files, relative to where the command runs. */
export function imagesOption(what: 'prompt' | 'message') {
  return {
    flags: '--image <file>',
    description: `Image file to send with the ${what} (repeat the option for more images)`,
    parse: (file: string, before: unknown) => [...(Array.isArray(before) ? before : []), file],
    read: (files: string[]) => ({ image_paths: files.map((file) => path.resolve(file)) }),
  };
}

/** A session as the value of `field`, by its id or the end of it. */
export function sessionAs<F extends string>(field: F, flags: string, description?: string) {
  return idAs(field, flags, description, sessionId);
}

/** A team as the value of `field`, by its id, the end of it, or its name. */
export function teamAs<F extends string>(field: F, flags: string, description?: string) {
  return idAs(field, flags, description, teamId);
}

/** An entry of the queue as the value of `field`, by its id, the end of it, or its name. */
export function entryAs<F extends string>(field: F, flags: string, description?: string) {
  return idAs(field, flags, description, entryId);
}

/** A member of the team that an earlier parameter names, by its session or its title in the team. */
export function memberAs<F extends string>(field: F, flags: string, description?: string) {
  return idAs(field, flags, description, (client, end, { team_id }) =>
    memberId(client, end, String(team_id)),
  );
}

export function messageAs<F extends string>(field: F, flags: string, description?: string) {
  return idAs(field, flags, description, (client, end, { team_id }) =>
    messageId(client, end, String(team_id)),
  );
}

export function turnAs(flags: string, description: string) {
  return {
    flags,
    description,
    field: 'turn_id',
    absent: async ({ client, fields }: Reading) => ({
      turn_id: await lastTurn(client, String(fields.session_id)),
    }),
  } as const;
}

function idAs<F extends string>(
  field: F,
  flags: string,
  description: string | undefined,
  find: (client: Client, end: string, fields: Reading['fields']) => Promise<string>,
) {
  return {
    flags,
    ...(description === undefined ? {} : { description }),
    read: async (end: string, { client, fields }: Reading) =>
      ({ [field]: await find(client, end, fields) }) as Record<F, string>,
  };
}
