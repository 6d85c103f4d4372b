import { RequestError } from '@agentclientprotocol/sdk/unstable';
import { AppError, type ErrorCode } from '../../api/errors.ts';

/** The codes of JSON-RPC and of ACP for what a client can act on; every other error is an internal one. */
const codes: Partial<Record<ErrorCode, number>> = {
  invalid: -32602,
  usage: -32602,
  not_found: -32002,
};

/** What to do, where only whoever starts `cadre acp` can do it. */
const ways: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'set CADRE_TOKEN for cadre acp, or pass --token-file',
};

/** An error as the editor gets it: with the words of cadre, and its code in `data`. */
export function requestError(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const way = ways[error.code];
  return new RequestError(
    codes[error.code] ?? -32603,
    way === undefined || error.message.includes('--token-file')
      ? error.message
      : `${error.message}: ${way}`,
    { code: error.code },
  );
}
