/** The library `cadre/client`. What these modules export is its public face; scripts/client-library.mjs names them, too. */
export * from './create-client.ts';
export * from './error.ts';
export type * from './face.ts';
export type * from '#generated/interface.ts';
export * from './local-server.ts';
