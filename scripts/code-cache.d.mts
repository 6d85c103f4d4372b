/** Compiles the one bundle that runs without a server, and writes what was compiled beside it. */
export function compileSidecar(directory: string): Promise<void>;
