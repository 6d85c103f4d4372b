import { ProviderError, type TurnOutcome } from '../../../agents/provider.ts';

/** Returns the error of a turn whose agent could not be started, or threw. */
export function failureOf(error: unknown): { code: string; message: string } {
  if (error instanceof ProviderError) return { code: error.code, message: error.message };
  return {
    code: 'provider_unavailable',
    message: error instanceof Error ? error.message : String(error),
  };
}

export function storageFailure(error: unknown): TurnOutcome {
  const message = `cannot store the output of the agent: ${error instanceof Error ? error.message : String(error)}`;
  return { status: 'failed', error: { code: 'storage_full', message } };
}
