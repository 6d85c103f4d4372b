import {
  PROTOCOL_VERSION,
  type InitializeResponse,
  type SessionModeState,
} from '@agentclientprotocol/sdk/unstable';
import { version } from '../lib/self.ts';
import type { ModeId } from './history.ts';

/** What the agent says of itself, whatever version the client asked for: there is only this one. */
export const initializeResponse: InitializeResponse = {
  protocolVersion: PROTOCOL_VERSION,
  agentInfo: { name: 'cadre-demo', title: "cadre's demo agent", version },
  authMethods: [],
  agentCapabilities: {
    loadSession: true,
    promptCapabilities: { image: true },
    sessionCapabilities: { list: {}, resume: {}, close: {} },
  },
};

/** The modes as the client may show them. Of all of them, only `full_access` changes what is done. */
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
  full_access: 'Full access: asks nothing',
};
