import http from 'node:http';

/** Requests a server's `/health` continuously, in a process of its own, and reports the time of each response. */
const url = process.argv[2] ?? '';
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
let times: number[] = [];

function ask(): void {
  const sent = performance.now();
  http.get(`${url}/health`, { agent }, (response) => {
    response.resume().once('end', () => {
      times.push(performance.now() - sent);
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
