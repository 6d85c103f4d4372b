import { endpoints } from '../../../api/index.ts';
import { AppError } from '../../../api/errors.ts';
import type { ProcessService } from '../../work/processes/service.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { Mount } from '../mount.ts';
import { startingPoint } from './events.ts';

export function processRoutes(mount: Mount, processes: ProcessService): void {
  mount(endpoints.createProcess, async ({ body, saveResponse }) => ({
    process: await processes.run(body, inResponse(saveResponse)),
  }));
  mount.page(endpoints.listProcesses, ({ query }) => processes.list(query));
  mount(endpoints.getProcess, ({ params, query }) =>
    processes.get(params.process_id, query.session_id),
  );
  mount(endpoints.getProcessLogs, ({ params, query }) => processes.logs(params.process_id, query));
  mount(endpoints.killProcess, async ({ params, query, body, saveResponse }) => ({
    process: await processes.kill(
      params.process_id,
      query.session_id,
      body.reason ?? null,
      inResponse(saveResponse),
    ),
  }));
  mount(endpoints.restartProcess, async ({ params, query, saveResponse }) => ({
    process: await processes.restart(params.process_id, query.session_id, inResponse(saveResponse)),
  }));
  mount(endpoints.writeToProcess, async ({ params, query, body }) => ({
    process_id: params.process_id,
    bytes: await processes.write(params.process_id, query.session_id, body),
  }));
  mount(endpoints.waitForProcess, async ({ params, query, bearer, isHead, ...call }) => {
    if (bearer?.scope === 'read' && query.for.startsWith('port:')) {
      throw new AppError(
        'forbidden_scope',
        'a read token cannot wait for a port, because the server opens a connection to that port: use a token with the scope admin',
      );
    }
    // A process that outlives the server does not end before the server stops.
    const over = AbortSignal.any([call.disconnected, call.ending]);
    if (!isHead) return processes.wait(params.process_id, query, over);
    return { process: await processes.get(params.process_id, query.session_id), matched: false };
  });
  mount(endpoints.getProcessDiagnostics, () => processes.diagnostics());
  mount(endpoints.streamProcessLogs, async ({ params, query, header, stream }) => {
    const from = startingPoint(query.from_byte, header('last-event-id'));
    const { process_id } = await processes.get(params.process_id, query.session_id);
    return stream(async function* (signal, ending) {
      const followed = { stream: query.stream, from, signal, ending };
      for await (const { next, ...piece } of processes.followOutput(process_id, followed))
        yield `id: ${next}\nevent: log\ndata: ${JSON.stringify(piece)}\n\n`;
      // A process that outlives the server has not ended.
      const isOver = async () => (await processes.get(process_id)).ended_at !== null;
      if (!signal.aborted && (await isOver())) yield 'event: end\ndata: {}\n\n';
    });
  });
}

/** Stores the response that contains a process. */
function inResponse(saveResponse: SaveResponse | undefined): SaveResponse | undefined {
  return saveResponse && ((tx, process) => saveResponse(tx, { process }));
}
