// The compiler reads this file: it reports differences between the types of the client library and of the program.
import type { BodyInputOf, QueryInputOf, ResponseOf } from '../../src/api/endpoint.ts';
import type { EventKind, EventOf } from '../../src/api/events.ts';
import type { endpoints } from '../../src/api/index.ts';
import type * as face from '../../src/client/public/types.ts';
import type { Routes } from '#generated/interface.ts';

type Endpoints = typeof endpoints;

/** A response of the server fits the type of the answer, and the server accepts every input that the library allows. */
type Fits<Name extends keyof Endpoints, R extends keyof Routes> = {
  answer: ResponseOf<Endpoints[Name]> extends Routes[R]['answer'] ? true : false;
  query: Routes[R] extends { query?: infer Query }
    ? NonNullable<Query> extends QueryInputOf<Endpoints[Name]>
      ? true
      : false
    : true;
  body: Routes[R] extends { body: infer Body }
    ? Body extends BodyInputOf<Endpoints[Name]>
      ? true
      : false
    : true;
};
type Yes = { answer: true; query: true; body: true };

export const routes: Yes[] = [
  {} as Fits<'getHealth', 'GET /v1/health'>,
  {} as Fits<'getVersion', 'GET /v1/version'>,
  {} as Fits<'getDiagnostics', 'GET /v1/diagnostics'>,
  {} as Fits<'createSession', 'POST /v1/sessions'>,
  {} as Fits<'listSessions', 'GET /v1/sessions'>,
  {} as Fits<'updateSession', 'PATCH /v1/sessions/{session_id}'>,
  {} as Fits<'sendTurn', 'POST /v1/sessions/{session_id}/turns'>,
  {} as Fits<'listTurns', 'GET /v1/sessions/{session_id}/turns'>,
  {} as Fits<'decideApproval', 'POST /v1/sessions/{session_id}/approvals/{approval_id}'>,
  {} as Fits<'listProviders', 'GET /v1/providers'>,
  {} as Fits<'createProcess', 'POST /v1/processes'>,
  {} as Fits<'getProcessLogs', 'GET /v1/processes/{process_id}/logs'>,
  {} as Fits<'createWorktree', 'POST /v1/worktrees'>,
  {} as Fits<'cleanUpWorktree', 'POST /v1/worktrees/{worktree_id}/cleanup'>,
  {} as Fits<'createTeam', 'POST /v1/teams'>,
  {} as Fits<'getTeamView', 'GET /v1/teams/{team_id}/view'>,
  {} as Fits<'sendMessage', 'POST /v1/teams/{team_id}/messages'>,
  {} as Fits<'createToken', 'POST /v1/tokens'>,
  {} as Fits<'deleteTeam', 'DELETE /v1/teams/{team_id}'>,
];

/** The kinds of which an event of the program does not fit the type of the library. */
type Wrong = {
  [K in EventKind]: EventOf<K> extends face.EventOf<K> ? never : K;
}[EventKind];
export const wrong: [Wrong] extends [never] ? true : Wrong = true;

/** Both have the same kinds. */
export const same: [EventKind, face.EventKind] extends [face.EventKind, EventKind] ? true : false =
  true;
