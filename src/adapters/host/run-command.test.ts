import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { cleanEnvironment, ownProgram } from './run-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'bootwright-path-'));
writeFileSync(join(folder, 'nsenter'), '', { mode: 0o755 });
afterAll(() => rmSync(folder, { recursive: true }));

describe('ownProgram', () => {
  it('is the first match on the PATH of the agent', () => {
    const found = ownProgram('nsenter', { PATH: `/nonexistent:${folder}` });
    expect(found).toBe(join(folder, 'nsenter'));
  });

  it('does not fall back to folders outside that PATH', () => {
    expect(ownProgram('nsenter', { PATH: '/nonexistent' })).toBe('/nonexistent/nsenter');
  });
});

it('the environment of a command has only the variables that it needs', () => {
  const environment = cleanEnvironment({ PATH: '/mine', PULL_SECRET_TOKEN: 'token' }, { A: 'b' });
  expect(Object.keys(environment).sort()).toEqual(['A', 'HOME', 'LC_ALL', 'PATH', 'TERM']);
  expect(environment['PATH']?.split(':')[0]).toBe('/mine');
});
