import {
  PROTOCOL_VERSION,
  type InitializeResponse,
  type SessionModeState,
} from '@agentclientprotocol/sdk/unstable';
import { version } from '../../core/lib/self.ts';
import type { ModeId } from './history.ts';

/** The response to `initialize`. The agent supports one protocol version, so it ignores the version of the request. */
export const initializeResponse: InitializeResponse = {
  protocolVersion: PROTOCOL_VERSION,
  agentInfo: { name: 'cadre-demo', title: "cadre's demo agent", version },
  authMethods: [],
  agentCapabilities: {
    loadSession: true,
    _meta: { 'cadre/no-tools': true },
    promptCapabilities: { image: true },
    sessionCapabilities: { list: {}, resume: {}, close: {} },
  },
};

/** The modes, for the client to show. Only `full_access` changes what the agent does: it asks for no permission. */
export function modeState(currentModeId: ModeId): SessionModeState {
  return {
    currentModeId,
    availableModes: Object.entries(modeNames).map(([id, name]) => ({ id, name })),
  };
}

const modeNames: Record<ModeId, string> = {
  default: 'Default',
  read_only: 'Read only',
  workspace_write: 'Workspace write',
  full_access: 'Full access: no approvals',
};
