import v8 from 'node:v8';

/**
 * Keeps the memory of a server small; it has to run before the server allocates much. Measured after 5,000 requests, at
 * about the same CPU time: 175 MB instead of 225 MB. The options act from here on, unlike those that size the heap when
 * it is made.
 */
export function keepHeapSmall(): void {
  // The youngest objects stay in the first 2 MB, instead of up to 48 MB.
  v8.setFlagsFromString('--semi-space-growth-factor=1');
  // Each thread that optimises SQLite's functions keeps the memory that it took for that.
  v8.setFlagsFromString('--wasm-num-compilation-tasks=1');
  // The V8 of Node 22 does not have this option and complains; the V8 of Node 26 crashes with it when it compiles
  // SQLite.
  if (process.versions.v8.startsWith('13.')) v8.setFlagsFromString('--no-wasm-inlining');
}

/**
 * Collects old objects once they have grown by 40 %. Without it, a small heap first grows up to fourfold. Call it
 * after the start, because during the start it only adds collections. Measured at 50,000 events of busy agents: 218 MB
 * at most instead of 311 MB.
 */
export function keepHeapGrowthSmall(): void {
  v8.setFlagsFromString('--heap-growing-percent=40');
}
