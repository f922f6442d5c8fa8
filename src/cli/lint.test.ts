import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { osConfigManifest } from '../../test/layering/manifests.ts';
import { osConfigObject } from '../../test/layering/samples.ts';
import { bootwright } from './program/commands.ts';

let folder: string;
let printed: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bootwright-lint-'));
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const file = (name: string, content: unknown): string => {
  const path = join(folder, name);
  const isWritten = typeof content === 'string' || content instanceof Uint8Array;
  writeFileSync(path, isWritten ? content : JSON.stringify(content));
  return path;
};

const lint = (...paths: readonly string[]): Promise<number> => bootwright().run(['lint', ...paths]);

/** Returns the printed lines without the folder of this test. */
const lines = (): readonly string[] =>
  printed === '' ? [] : printed.replace(/\n$/, '').replaceAll(`${folder}/`, '').split('\n');

/** Nine nested lists, which would expand to four hundred million words. */
const bomb = Array.from({ length: 9 }, (_, index) => {
  const word = index === 0 ? 'x' : `*a${index - 1}`;
  return `a${index}: &a${index} [${Array.from({ length: 9 }, () => word).join(',')}]\n`;
}).join('');

describe('lint', () => {
  it('prints nothing and exits with 0 for valid files', async () => {
    expect(await lint(file('a.json', osConfigObject()))).toBe(0);
    expect(lines()).toEqual([]);
  });

  it.each([
    ['Job', 'Pod', /^9: spec\.imageBuilder\.imageBuilderType: Invalid input: expected "Job"$/],
    ['registry.example.com', 'localhost', /^12: spec\.renderedImagePushSpec: write HOST\.DOMAIN/],
  ])('reports the line where %j is replaced by %j', async (from, to, expected) => {
    const text = osConfigManifest('worker').replace(from, to);
    expect(text).not.toBe(osConfigManifest('worker'));
    expect(await lint(file('os.yaml', text))).toBe(2);
    expect(lines().map((line) => line.replace(/^os\.yaml:|error: /g, ''))).toEqual([
      expect.stringMatching(expected),
    ]);
  });

  const wanted = 'a MachineConfig, a MachineOSConfig or an Ignition config is expected';
  it.each([
    ['an empty file', '', new RegExp(`^f:1: error: ${wanted}, and this is empty$`)],
    ['an empty List', 'kind: List\nitems: []\n', /^f:2: error: .*this List is empty$/],
    ['a binary file', new Uint8Array([127, 69, 0, 1]), /^f:1: error: .*this file is binary$/],
    ['an alias bomb', bomb, /^f:1: error: its aliases stand for too many values$/],
    ['another kind', 'kind: Secret\n', /^f:1: error: .*, and this is another object/],
  ])('reports %s and continues with the next file', async (...[, content, expected]) => {
    const last = file('last.yaml', osConfigManifest('worker').replace('Job', 'Pod'));
    expect(await lint(file('f', content), last)).toBe(2);
    expect(lines()).toEqual([
      expect.stringMatching(expected),
      expect.stringMatching(/^last\.yaml:9: error: /),
    ]);
  });

  it('continues with the next document after a syntax error', async () => {
    const text = `a: [\n---\n${osConfigManifest('worker').replace('Job', 'Pod')}`;
    await lint(file('two.yaml', text));
    expect(lines()).toEqual([
      expect.stringMatching(/^two\.yaml:\d+: error: /),
      expect.stringMatching(/^two\.yaml:11: error: spec\.imageBuilder/),
    ]);
  });

  it('prints a finding on one line without control characters', async () => {
    const text = osConfigManifest('worker').replace('containerFile', '"x\\e[31m\\ny"');
    await lint(file('line\nbreak.yaml', text));
    expect(lines()).toEqual([
      expect.stringMatching(/^line break\.yaml:13: error: spec\.x.*y: unk/),
    ]);
  });
});

describe('lint of MachineConfigs', () => {
  const apiVersion = 'machineconfiguration.openshift.io/v1';
  const machineConfig = (name: string, path: string): unknown => ({
    apiVersion,
    kind: 'MachineConfig',
    metadata: { name, labels: { 'machineconfiguration.openshift.io/role': 'worker' } },
    spec: {
      config: {
        ignition: { version: '3.2.0' },
        storage: { files: [{ path, contents: { source: 'data:,x' } }] },
      },
    },
  });

  it('reads a file once, even if several symbolic links point to it', async () => {
    mkdirSync(join(folder, 'deep'));
    mkdirSync(join(folder, 'deep', 'folder.yaml'));
    file('deep/b.ign', { ignition: { version: '3.2.0' }, storage: { files: [{ path: 'x' }] } });
    for (const name of ['a', 'b', 'deep/c']) symlinkSync(folder, join(folder, name));
    symlinkSync('deep/b.ign', join(folder, 'link.ign'));
    symlinkSync('nowhere', join(folder, 'z.yaml'));
    symlinkSync('/dev/null', join(folder, 'deep', 'device.json'));
    expect(await lint(folder)).toBe(2);
    expect(lines()).toEqual([
      'z.yaml: error: cannot be read: no such file',
      expect.stringMatching(/^link\.ign:1: error: .*path-relative/),
    ]);
  });

  it('reads files and folders and ignores other files in a folder', async () => {
    mkdirSync(join(folder, 'deep'));
    file('deep/b.yaml', { apiVersion, kind: 'MachineConfig', metadata: { name: '99-b' } });
    file('a.json', machineConfig('99-a', '/etc/motd'));
    file('install-config.yaml', { baseDomain: 'example.com' });
    file('README.md', '# no object');
    expect(await lint(folder)).toBe(0);
    expect(lines()).toEqual([expect.stringMatching(/^deep\/b\.yaml:1: warning: .* \[no-role\]$/)]);
  });

  it('exits with 2 for an error and for a file that cannot be read', async () => {
    expect(await lint(file('a.json', machineConfig('99-a', 'etc/motd')))).toBe(2);
    expect(await lint(join(folder, 'none.yaml'))).toBe(2);
    expect(lines()).toEqual([
      expect.stringMatching(/^a\.json:1: error: .* must be absolute \[path-relative\]$/),
      'none.yaml: error: cannot be read: no such file',
    ]);
  });
});
