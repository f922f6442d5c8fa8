import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensurePart } from '../../scripts/parts/ensure.ts';
import { type CachedPart, PartError, partFolder, partHash } from '../../scripts/parts/part.ts';
import { createTestFolder, type TestFolder } from '../guest/rig/test-folder.ts';

let folder: TestFolder;
let source: string;

beforeEach(() => {
  folder = createTestFolder('parts');
  process.env['XDG_CACHE_HOME'] = folder.path;
  source = join(folder.path, 'source.txt');
  writeFileSync(source, 'one');
});

afterEach(() => {
  delete process.env['XDG_CACHE_HOME'];
  folder[Symbol.dispose]();
});

/** A cached part that records each of its builds, fails on request, and takes a moment. */
function samplePart(script: string, inputs: CachedPart[] = []): CachedPart {
  const builds = join(folder.path, 'builds.txt');
  return {
    kind: 'cached',
    name: inputs.length === 0 ? 'sample' : 'sample-of-it',
    purpose: 'a sample',
    pin: '1',
    cost: 'no time, no size',
    tools: [],
    inputs,
    files: [source],
    build: (site) =>
      site.log.run({ argv: ['sh', '-c', `echo built >> ${builds}\n${script}`], cwd: site.folder }),
  };
}

function buildCount(): number {
  return readFileSync(join(folder.path, 'builds.txt'), 'utf8').trim().split('\n').length;
}

async function ensureNoting(part: CachedPart): Promise<string[]> {
  const lines: string[] = [];
  await ensurePart(part, (line) => lines.push(line));
  return lines;
}

describe('a part of the cache', () => {
  it('is built once for two concurrent users; the waiting one prints the start time and the log', async () => {
    const gate = join(folder.path, 'gate');
    const part = samplePart(`until [ -e ${gate} ]; do sleep 0.05; done; echo content > file`);
    const first = ensureNoting(part);
    await expect.poll(() => existsSync(join(folder.path, 'builds.txt'))).toBe(true);
    const lines: string[] = [];
    // Another process has its own object.
    const second = ensurePart({ ...part }, (line) => lines.push(line));
    await expect.poll(() => lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^sample: waiting .* since \d\d:\d\d:\d\d .*log .*sample\.log\)$/);
    writeFileSync(gate, '');
    await Promise.all([first, second]);
    expect([(await first).length, lines.length, buildCount()]).toEqual([1, 1, 1]);
  });

  it('is absent after a failed build, whose error contains the log file and its end', async () => {
    const part = samplePart('echo half > file; echo no luck >&2; exit 3');
    const failure = await ensurePart(part, () => undefined).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(PartError);
    expect((failure as PartError).message).toMatch(/logs\/sample\.log[^]*no luck/);
    expect(existsSync(partFolder(part))).toBe(false);
  });

  it('does not wait for a killed builder', async () => {
    const part = samplePart('echo content > file');
    await dieWithLock(join(folder.path, 'bootwright', 'parts', 'sample.lock'));
    // The kernel may take a moment to release the lock.
    expect((await ensureNoting(part)).at(-1)).toContain('sample: making');
    expect(buildCount()).toBe(1);
  });
});

/** Makes another process take the lock, and kills it. */
async function dieWithLock(lock: string): Promise<void> {
  mkdirSync(dirname(lock), { recursive: true });
  const module = join(import.meta.dirname, '../../scripts/parts/ensure.ts');
  const program = `import { takeLock } from '${module}'; await takeLock('${lock}'); console.log('taken')`;
  const holder = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  holder.kill('SIGKILL');
  await once(holder, 'close');
}

describe('the hash of a part', () => {
  it('changes with the content of its files and with its inputs', () => {
    const input = samplePart('');
    const part = samplePart('', [input]);
    const before = [partHash(input), partHash(part)];
    writeFileSync(source, 'two');
    const after = [partHash(input), partHash(part)];
    expect(new Set([...before, ...after]).size).toBe(4);
  });
});
