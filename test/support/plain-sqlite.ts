// A server of a test lives a second or two. Optimizing the code of SQLite costs a quarter of that, and gains nothing.
// A command line option could disable it, but V8 refuses compiled code of other options. So this module disables it
// when SQLite is loaded, after the bundles.
import v8 from 'node:v8';

const { Module } = WebAssembly;

function PlainModule(bytes: Uint8Array): WebAssembly.Module {
  v8.setFlagsFromString('--no-wasm-tier-up');
  v8.setFlagsFromString('--no-wasm-dynamic-tiering');
  return new Module(bytes);
}
Object.assign(WebAssembly, { Module: PlainModule });
