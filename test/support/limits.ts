// Loaded before each test file, because the time limit of a test depends on the current load of the machine.
import { vi } from 'vitest';
import { scaled } from './patience.ts';

vi.setConfig({ testTimeout: scaled(20_000), hookTimeout: scaled(20_000) });
