import { describe, expect, it } from 'vitest';

import { PULL_SECRET_PATH, readFileContent } from './file.ts';
import { parseConfig } from './parse.ts';

// The shape of a bootstrap config of assisted-service: spec 3.1 with members of older specs in it.
const { config } = parseConfig(
  JSON.stringify({
    ignition: { version: '3.1.0' },
    networkd: {},
    storage: {
      files: [
        { filesystem: 'root', path: '/etc/a', contents: { source: 'data:,a' } },
        {
          filesystem: 'root',
          path: PULL_SECRET_PATH,
          contents: { source: 'data:text/plain;charset=utf-8;base64,e30=', verification: {} },
        },
        { path: '/etc/empty' },
      ],
    },
  }),
);

describe('a file of a config', () => {
  it('is found by its path and decoded', () => {
    expect(Buffer.from(readFileContent(config, PULL_SECRET_PATH)).toString()).toBe('{}');
  });

  it.each([
    ['/etc/b', 'ignition.file-missing'],
    ['/etc/empty', 'ignition.no-source'],
  ])('that cannot be had is named: %s', (path, code) => {
    expect(() => readFileContent(config, path)).toThrow(expect.objectContaining({ code }));
  });

  it('is missing from a config without files', () => {
    const empty = parseConfig('{"ignition":{"version":"3.1.0"}}').config;
    expect(() => readFileContent(empty, '/a')).toThrow(
      expect.objectContaining({ code: 'ignition.file-missing', context: { path: '/a' } }),
    );
  });
});
