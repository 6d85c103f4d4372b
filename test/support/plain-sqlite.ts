// A server of a test lives a second or two: to optimise the code of SQLite costs a quarter of that, and gains nothing.
// The command line could tell V8 so, but V8 refuses the build's compiled code where its options are others. So it is told
// when it gets SQLite, with the bundles loaded.
import v8 from 'node:v8';

const { Module } = WebAssembly;

function PlainModule(bytes: Uint8Array): WebAssembly.Module {
  v8.setFlagsFromString('--no-wasm-tier-up');
  v8.setFlagsFromString('--no-wasm-dynamic-tiering');
  return new Module(bytes);
}
Object.assign(WebAssembly, { Module: PlainModule });
