import { once } from 'node:events';
import http from 'node:http';
import type { Address } from './http.ts';

const agent = new http.Agent({ keepAlive: true });

/** Reads an answer whole without looking at it; resolves with its length in bytes. */
export async function download({ url, token }: Address, path: string): Promise<number> {
  const response = await open(url, token, path);
  let bytes = 0;
  response.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await once(response, 'end');
  return bytes;
}

/** Reads a stream until `mark` is in it; resolves with the number of bytes until then. */
export async function downloadUntil(
  { url, token }: Address,
  path: string,
  mark: string,
): Promise<number> {
  const response = await open(url, token, path);
  const sought = Buffer.from(mark);
  let bytes = 0;
  let tail: Buffer = Buffer.alloc(0);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (Buffer.concat([tail, chunk.subarray(0, sought.length)]).includes(sought)) break;
    if (chunk.includes(sought)) break;
    tail = chunk.subarray(-sought.length);
  }
  response.destroy();
  return bytes;
}

async function open(url: string, token: string, path: string): Promise<http.IncomingMessage> {
  const headers = { authorization: `Bearer ${token}` };
  const request = http.get(`${url}${path}`, { agent, headers });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  if (response.statusCode === 200) return response;
  throw new Error(`${path} was refused with ${response.statusCode}`);
}
