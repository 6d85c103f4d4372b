/** An ACP agent that runs each prompt in a shell, and answers with the output. */
export const SHELL_AGENT = `
import { execFileSync } from 'node:child_process';
import readline from 'node:readline';
const availableModes = ['write', 'read_only'].map((id) => ({ id, name: id }));
const modes = { currentModeId: 'write', availableModes };
const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize')
    send({ id, result: { protocolVersion: 1, agentCapabilities: { sessionCapabilities: { resume: {} } } } });
  else if (method === 'session/new') {
    for (const { name, value } of params.mcpServers[0].env) process.env[name] = value;
    send({ id, result: { sessionId: 'one', modes } });
  } else if (method === 'session/resume') send({ id, result: { modes } });
  else if (method === 'session/set_mode') send({ id, result: {} });
  else if (method === 'session/prompt') {
    const text = execFileSync('sh', ['-c', '{ ' + params.prompt[0].text + '; } 2>&1; true'], { encoding: 'utf8' });
    const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } };
    send({ method: 'session/update', params: { sessionId: 'one', update } });
    send({ id, result: { stopReason: 'end_turn' } });
  } else if (id !== undefined) send({ id, error: { code: -32601, message: 'unknown method' } });
});
`;
