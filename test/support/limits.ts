// Loaded before each file of tests: how long a test may take is said anew, since the load of the machine changes.
import { vi } from 'vitest';
import { scaled } from './patience.ts';

vi.setConfig({ testTimeout: scaled(20_000), hookTimeout: scaled(20_000) });
