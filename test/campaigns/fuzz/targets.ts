import type { Target } from './runner.ts';

interface Row {
  /** The inputs of the small form: about a hundredth of the campaign, and fewer where an input is slow. */
  part: number;
  load: () => Promise<Target>;
}

/** All targets. Each is loaded alone, since a campaign may have one. */
export const targets: Record<string, Row> = {
  http: { part: 300, load: async () => (await import('./http.ts')).http },
  sse: { part: 1000, load: async () => (await import('./messages.ts')).sse },
  mcp: { part: 500, load: async () => (await import('./messages.ts')).mcp },
  editor: { part: 100, load: async () => (await import('./messages.ts')).editor },
  nats: { part: 1000, load: async () => (await import('./messages.ts')).nats },
  hooks: { part: 300, load: async () => (await import('./messages.ts')).hooks },
  acp: { part: 200, load: async () => (await import('./agents.ts')).acp },
  claude: { part: 200, load: async () => (await import('./agents.ts')).claude },
  codex: { part: 200, load: async () => (await import('./agents.ts')).codex },
  git: { part: 1000, load: async () => (await import('./git.ts')).git },
  store: { part: 60, load: async () => (await import('./stores.ts')).store },
  search: { part: 60, load: async () => (await import('./stores.ts')).search },
  config: { part: 500, load: async () => (await import('./files.ts')).config },
  templates: { part: 1000, load: async () => (await import('./files.ts')).templates },
  files: { part: 1000, load: async () => (await import('./files.ts')).small },
  logs: { part: 300, load: async () => (await import('./files.ts')).logs },
  threads: { part: 500, load: async () => (await import('./files.ts')).threads },
  transcripts: { part: 500, load: async () => (await import('./files.ts')).transcripts },
};
