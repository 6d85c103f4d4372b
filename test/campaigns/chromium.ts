import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { tempDirectory } from '../support/temp.ts';

/** The browser of this machine; null if none is installed (`make browser` installs one on Debian). */
export const browserProgram =
  ['chromium', 'chromium-browser', 'google-chrome'].find(
    (name) => spawnSync(name, ['--version']).status === 0,
  ) ?? null;

/** A page in a headless browser with the size of a phone. */
export interface PhonePage extends AsyncDisposable {
  /** Opens an address and waits until the page is loaded. */
  open(url: string): Promise<void>;
  /** The visible text of the page. */
  text(): Promise<string>;
  /** The left and top edge, width and height of the first element that a selector names, in CSS pixels. */
  boxOf(selector: string): Promise<{ x: number; y: number; width: number; height: number }>;
  /** Scrolls to an element and taps its middle with a finger; waits for the page that follows. */
  tap(selector: string): Promise<void>;
  /** The width of the content of the page: wider than the screen if the page scrolls sideways. */
  contentWidth(): Promise<number>;
  /** The computed value of a CSS property of the first element that a selector names. */
  styleOf(selector: string, property: string): Promise<string>;
  /** Prefers a dark or a light page from now on. */
  prefer(scheme: 'dark' | 'light'): Promise<void>;
}

/** The width and height of a small phone, in CSS pixels. */
export const PHONE = { width: 360, height: 740 } as const;

type Json = Record<string, unknown>;

/** Starts a separate browser, with an empty profile and with access to this machine only. */
export async function openPhone(): Promise<PhonePage> {
  const profile = tempDirectory('browser');
  const child = spawn(
    browserProgram ?? '',
    [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile.path}`,
      'about:blank',
    ],
    // The browser removes its directory for temporary files after its exit, or never.
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, TMPDIR: profile.path } },
  );
  let address = '';
  for await (const line of createInterface({ input: child.stderr }))
    if ((address = /^DevTools listening on (ws:\S+)/.exec(line)?.[1] ?? '') !== '') break;
  child.stderr.resume();
  const devtools = await DevTools.connect(address);
  const { targetId } = await devtools.send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await devtools.send('Target.attachToTarget', { targetId, flatten: true });
  const send = (method: string, params: Json = {}) =>
    devtools.send(method, params, String(sessionId));
  await send('Page.enable');
  await send('DOM.enable');
  await send('CSS.enable');
  await send('Emulation.setDeviceMetricsOverride', {
    ...PHONE,
    deviceScaleFactor: 2,
    mobile: true,
  });
  await send('Emulation.setTouchEmulationEnabled', { enabled: true });
  const nodeOf = async (selector: string) => {
    const { root } = (await send('DOM.getDocument')) as { root: { nodeId: number } };
    const found = await send('DOM.querySelector', { nodeId: root.nodeId, selector });
    if (!found.nodeId) throw new Error(`the page has no ${selector}`);
    return found.nodeId as number;
  };
  const boxOf = async (selector: string) => {
    const nodeId = await nodeOf(selector);
    const { model } = (await send('DOM.getBoxModel', { nodeId })) as {
      model: { border: number[]; width: number; height: number };
    };
    const [x = 0, y = 0] = model.border;
    return { x, y, width: model.width, height: model.height };
  };
  return {
    async open(url) {
      const loaded = devtools.once('Page.loadEventFired');
      await send('Page.navigate', { url });
      await loaded;
    },
    async text() {
      const { nodes } = (await send('Accessibility.getFullAXTree')) as {
        nodes: { role?: { value: string }; name?: { value: string } }[];
      };
      const texts = nodes.filter(({ role }) => role?.value === 'StaticText');
      return texts.map(({ name }) => name?.value).join('\n');
    },
    boxOf,
    async tap(selector) {
      const nodeId = await nodeOf(selector);
      await send('DOM.scrollIntoViewIfNeeded', { nodeId });
      const { x, y, width, height } = await boxOf(selector);
      const loaded = devtools.once('Page.loadEventFired');
      const touchPoints = [{ x: x + width / 2, y: y + height / 2 }];
      await send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints });
      await send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
      await loaded;
    },
    async contentWidth() {
      const { cssContentSize } = (await send('Page.getLayoutMetrics')) as {
        cssContentSize: { width: number };
      };
      return cssContentSize.width;
    },
    async styleOf(selector, property) {
      const nodeId = await nodeOf(selector);
      const { computedStyle } = (await send('CSS.getComputedStyleForNode', { nodeId })) as {
        computedStyle: { name: string; value: string }[];
      };
      return computedStyle.find(({ name }) => name === property)?.value ?? '';
    },
    async prefer(value) {
      const features = [{ name: 'prefers-color-scheme', value }];
      await send('Emulation.setEmulatedMedia', { features });
    },
    async [Symbol.asyncDispose]() {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      await devtools.send('Browser.close').catch(() => child.kill('SIGKILL'));
      await exited;
      devtools.close();
      profile[Symbol.dispose]();
    },
  };
}

/** The protocol by which a browser is driven: requests and events as JSON on a socket. */
class DevTools {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, PromiseWithResolvers<Json>>();
  readonly #waiting: { method: string; resolve: () => void }[] = [];
  #last = 0;

  static async connect(address: string): Promise<DevTools> {
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      socket.addEventListener('error', () => reject(new Error(`cannot connect to ${address}`)), {
        once: true,
      });
    });
    return new DevTools(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(String(data))));
    socket.addEventListener('close', () => {
      for (const { reject } of this.#pending.values()) reject(new Error('the browser exited'));
    });
  }

  send(method: string, params: Json = {}, sessionId?: string): Promise<Json> {
    const id = ++this.#last;
    const answer = Promise.withResolvers<Json>();
    this.#pending.set(id, answer);
    this.#socket.send(JSON.stringify({ id, method, params, sessionId }));
    return answer.promise;
  }

  /** Resolves with the next event of that name. */
  once(method: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ method, resolve }));
  }

  close(): void {
    this.#socket.close();
  }

  #receive(message: { id?: number; method?: string; result?: Json; error?: Json }): void {
    const answer = message.id === undefined ? undefined : this.#pending.get(message.id);
    this.#pending.delete(message.id ?? 0);
    if (message.error) answer?.reject(new Error(JSON.stringify(message.error)));
    else answer?.resolve(message.result ?? {});
    const due = this.#waiting.filter(({ method }) => method === message.method);
    for (const one of due) {
      this.#waiting.splice(this.#waiting.indexOf(one), 1);
      one.resolve();
    }
  }
}
