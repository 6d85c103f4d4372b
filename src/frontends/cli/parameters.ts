import path from 'node:path';
import type { Client } from '../../client/client.ts';
import { repeated } from './command.ts';
import { count } from './option-values.ts';
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
  raceArgument,
  raceId,
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

export const session = idAs('session_id', sessionArgument, sessionId);
export const process = idAs('process_id', processArgument, processId);
export const team = idAs('team_id', teamArgument, teamId);
export const race = idAs('race_id', raceArgument, raceId);
export const rule = idAs('rule_id', ruleArgument, ruleId);
export const entry = idAs('entry_id', entryArgument, entryId);
export const budget = idAs('budget_id', budgetArgument, budgetId);
export const token = idAs('token_id', tokenArgument, tokenId);
export const worktree = idAs('worktree_id', worktreeArgument, worktreeId);

/** A message of the team that an earlier parameter names. */
export const message = messageAs('message_id', idArgument('message'));

/** A delivery of the team that an earlier parameter names. */
export const delivery = idAs('delivery_id', idArgument('delivery'), (client, end, { team_id }) =>
  deliveryId(client, end, String(team_id)),
);

/** A turn of the session that an earlier parameter names: by its whole id, or the most recent one. */
export const turn = turnAs('[turn]  Id of the turn (default: the most recent turn of the session)');

/** The value of a field whose name is not the one of the flag or argument. */
export function valueOf<const F extends string>(field: F, line: string) {
  return { line, field };
}

/** An option that no field of the request gets. */
export function unsent(line: string) {
  return { line, field: null };
}

/** An option that has to be given. */
export function required<P extends object>(parameter: P) {
  return { ...parameter, required: true };
}

export const limit = {
  line: '-L, --limit <n>  Maximum number of results to show',
  parse: count,
  default: 100,
};

export const reason = '--reason <text>  Reason for the action (cadre stores the reason)';

export const agentOption =
  '--agent <agent>  Name of the agent for the provider acp, such as gemini (list the names with cadre providers discover)';

export const agentModeOption =
  '--agent-mode <mode>  Name of a mode that the agent itself defines, such as plan (only for the provider acp)';

export const noInitOption = unsent(
  "--no-init  Do not run the repository's init script (.cadre/worktree-init.sh)",
);

export const noIncludeOption = unsent(
  '--no-include  Do not copy the files listed in .worktreeinclude to the worktree',
);

/** A directory of a repository, relative to where the command runs. */
export function repositoryOption(description: string) {
  return {
    line: `-R, --repo <directory>  ${description}`,
    read: (directory: string) => ({ repo_root: path.resolve(directory) }),
  };
}

/** Image files, relative to where the command runs. */
export function imagesOption(what: 'prompt' | 'message') {
  return {
    line: `--image <file>  Image file to send with the ${what} (repeat the option for more images)`,
    parse: repeated,
    read: (files: string[]) => ({ image_paths: files.map((file) => path.resolve(file)) }),
  };
}

/** A session as the value of `field`, by its id or the end of it. */
export function sessionAs<F extends string>(field: F, line: string) {
  return idAs(field, line, sessionId);
}

/** A team as the value of `field`, by its id, the end of it, or its name. */
export function teamAs<F extends string>(field: F, line: string) {
  return idAs(field, line, teamId);
}

/** An entry of the queue as the value of `field`, by its id, the end of it, or its name. */
export function entryAs<F extends string>(field: F, line: string) {
  return idAs(field, line, entryId);
}

/** A member of the team that an earlier parameter names, by its session or its title in the team. */
export function memberAs<F extends string>(field: F, line: string) {
  return idAs(field, line, (client, end, { team_id }) => memberId(client, end, String(team_id)));
}

export function messageAs<F extends string>(field: F, line: string) {
  return idAs(field, line, (client, end, { team_id }) => messageId(client, end, String(team_id)));
}

export function turnAs(line: string) {
  return {
    line,
    field: 'turn_id',
    absent: async ({ client, fields }: Reading) => ({
      turn_id: await lastTurn(client, String(fields.session_id)),
    }),
  } as const;
}

function idAs<F extends string>(
  field: F,
  line: string,
  find: (client: Client, end: string, fields: Reading['fields']) => Promise<string>,
) {
  return {
    line,
    read: async (end: string, { client, fields }: Reading) =>
      ({ [field]: await find(client, end, fields) }) as Record<F, string>,
  };
}
