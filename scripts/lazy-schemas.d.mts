import type { Plugin } from 'esbuild';

export const lazySchemas: Plugin;
