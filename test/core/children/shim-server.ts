// A server in a process of its own, for the tests of the shim: it starts a script in the shim, does what the lines of its
// stdin ask, and reports in lines of JSON.
import { createInterface } from 'node:readline';
import { openHost, type Order, type Report } from './shim.ts';

const [directory = '', graceMs, script = ''] = process.argv.slice(2);

const host = await openHost(directory, Number(graceMs));
const child = await host.run(script);
report({ pid: child.pid, ...(host.shim.process && { shim: host.shim.process.identity }) });
let text = '';
let bytes = 0;
child.stdout.on('data', (chunk: Buffer) => {
  bytes += chunk.length;
  text = `${text}${chunk.toString()}`.slice(-100);
  report({ bytes, text });
});
void child.rest.then(() => setImmediate(() => report({ isOver: true })));
for await (const line of createInterface({ input: process.stdin })) {
  const { write, acknowledge } = JSON.parse(line) as Order;
  if (acknowledge !== undefined) child.acknowledge(acknowledge);
  if (write) void child.writeInput(...write).then(() => report({ took: write[1] }));
}

function report(said: Report): void {
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
