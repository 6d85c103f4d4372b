/**
 * The library `cadre/client`. The exports of these modules are its public interface; scripts/client-library.mjs reads
 * their names here.
 */
export * from './create-client.ts';
export * from './error.ts';
export type * from './types.ts';
export type * from '#generated/interface.ts';
export * from './local-server.ts';
