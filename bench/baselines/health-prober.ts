import http from 'node:http';

/** Asks a server's `/health` again and again, from a process of its own, and tells how long each answer took. */
const url = process.argv[2] ?? '';
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
let times: number[] = [];

function ask(): void {
  const asked = performance.now();
  http.get(`${url}/health`, { agent }, (response) => {
    response.resume().once('end', () => {
      times.push(performance.now() - asked);
      setImmediate(ask);
    });
  });
}

process.on('message', () => {
  process.send?.(times);
  times = [];
});
process.once('disconnect', () => process.exit());
ask();
