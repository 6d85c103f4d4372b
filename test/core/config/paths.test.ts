import os from 'node:os';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import {
  cacheDirectory,
  defaultConfigFile,
  defaultDataDirectory,
} from '../../../src/core/config/paths.ts';

const HOME = '/home/someone';

test('The cache directory is the default of the system unless XDG_CACHE_HOME is set.', () => {
  expect(cacheDirectory({ HOME }, 'linux')).toBe('/home/someone/.cache/cadre');
  expect(cacheDirectory({ HOME }, 'darwin')).toBe('/home/someone/Library/Caches/cadre');
  for (const platform of ['linux', 'darwin'] as const)
    expect(cacheDirectory({ HOME, XDG_CACHE_HOME: '/caches' }, platform)).toBe('/caches/cadre');
});

test('Configuration and data are below the home directory unless a variable is set.', () => {
  expect(defaultConfigFile({ HOME })).toBe('/home/someone/.config/cadre/config.toml');
  expect(defaultConfigFile({ HOME, XDG_CONFIG_HOME: '/etc/own' })).toBe(
    '/etc/own/cadre/config.toml',
  );
  expect(defaultDataDirectory({ HOME })).toBe('/home/someone/.local/share/cadre');
  expect(defaultDataDirectory({ HOME, XDG_DATA_HOME: '/data' })).toBe('/data/cadre');
});

test('An XDG variable that is empty or a relative path counts as unset.', () => {
  const HOME = '/home/you';
  for (const wrong of ['', 'relative', './here']) {
    const env = { HOME, XDG_CONFIG_HOME: wrong, XDG_DATA_HOME: wrong, XDG_CACHE_HOME: wrong };
    expect(defaultConfigFile(env)).toBe('/home/you/.config/cadre/config.toml');
    expect(defaultDataDirectory({ ...env, CADRE_DATA_ROOT_DIR: '' })).toBe(
      '/home/you/.local/share/cadre',
    );
    expect(cacheDirectory(env, 'linux')).toBe('/home/you/.cache/cadre');
  }
});

test('A HOME that is empty or a relative path counts as unset, so that each directory finds the same server.', () => {
  const usual = path.join(os.userInfo().homedir, '.local/share/cadre');
  for (const HOME of ['', 'relative', './here']) expect(defaultDataDirectory({ HOME })).toBe(usual);
});

test('The root is the home directory of a user without an account and without HOME.', () => {
  using account = vi.spyOn(os, 'userInfo').mockImplementation(() => {
    throw new Error('uv_os_get_passwd returned ENOENT');
  });
  expect(defaultDataDirectory({})).toBe('/.local/share/cadre');
  expect(account).toHaveBeenCalledOnce();
});

test('Variables may name the home directory as ~.', () => {
  expect(defaultConfigFile({ HOME, CADRE_CONFIG: '~/own.toml' })).toBe('/home/someone/own.toml');
  expect(defaultDataDirectory({ HOME, CADRE_DATA_ROOT_DIR: '~/data' })).toBe('/home/someone/data');
});

test('An empty CADRE_CONFIG counts as unset.', () => {
  expect(defaultConfigFile({ HOME, CADRE_CONFIG: '' })).toBe(
    '/home/someone/.config/cadre/config.toml',
  );
});
