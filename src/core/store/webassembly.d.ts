// The part of WebAssembly that the store uses; Node's types lack these declarations of browsers.
declare namespace WebAssembly {
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
  interface Module {
    readonly [Symbol.toStringTag]: string;
  }
  const Module: new (bytes: Uint8Array) => Module;
  class Instance {
    constructor(module: Module, imports: unknown);
    readonly exports: Record<string, unknown>;
  }
}
