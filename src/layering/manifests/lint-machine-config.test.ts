import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { encodeDataUrl } from '../../ignition/resource.ts';
import { lintMachineConfigs } from './lint-machine-config.ts';

const role = 'machineconfiguration.openshift.io/role';

interface Given {
  readonly name?: string;
  readonly metadata?: object;
  readonly spec?: object;
  readonly config?: object;
}

const machineConfig = ({ name = '99-worker-x', metadata, spec, config = {} }: Given) => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: { name, labels: { [role]: 'worker' }, ...metadata },
  spec: { config: { ignition: { version: '3.2.0' }, ...config }, ...spec },
});

const file = (path: string, more: object = {}) => ({
  path,
  contents: { source: 'data:,x' },
  ...more,
});

const files = (...list: readonly object[]): Given => ({ config: { storage: { files: list } } });

const storage = (sections: object): Given => ({ config: { storage: sections } });
const onVar = { device: '/dev/disk/by-partlabel/var', path: '/var' };

const content = (source: string, more: object = {}) => ({
  path: '/a',
  contents: { source, ...more },
});
const invalid = 'error content-invalid';

const unit = (more: object): Given => ({
  config: { systemd: { units: [{ name: 'a@b-1.service', ...more }] } },
});

const linted = (content: unknown, path = 'a.json', isInFolder = false) => ({
  path,
  isInFolder,
  bytes: Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)),
});

const rulesOf = (given: Given): readonly string[] =>
  lintMachineConfigs([linted(machineConfig(given))]).map(
    ({ rule = '', severity }) => `${severity} ${rule}`,
  );

describe('a MachineConfig', () => {
  const gzip = gzipSync('text');
  const wrong = Buffer.from(gzip).fill(1, gzip.length - 8, gzip.length - 4);
  const hash = `sha512-${createHash('sha512').update('text').digest('hex')}`;
  it.each<[string, object, readonly string[]]>([
    ['valid gzip', { source: encodeDataUrl(gzip), verification: { hash } }, []],
    ['gzip with a wrong checksum', { source: encodeDataUrl(wrong) }, ['error content-invalid']],
    [
      'gzip with trailing bytes',
      { source: encodeDataUrl(Buffer.concat([gzip, wrong.subarray(1)])) },
      ['error content-invalid'],
    ],
    ['empty content', { source: '' }, []],
    [
      'text with another hash',
      { source: 'data:,tex', compression: '', verification: { hash } },
      ['error content-invalid'],
    ],
    [
      'remote content',
      { source: 'https://example.com/a', verification: { hash } },
      ['error remote-content'],
    ],
    [
      'gzip of more than 64 MiB',
      { source: encodeDataUrl(gzipSync(Buffer.alloc(64 * 1024 * 1024 + 1))) },
      [],
    ],
  ])('with a file of %s has invalid content only if the first boot would fail', (...row) => {
    const [, contents, findings] = row;
    const given = files({ path: '/a', contents: { compression: 'gzip', ...contents } });
    expect(rulesOf(given)).toEqual(findings);
  });

  it.each<[string, Given]>([
    ['an own file', files(file('/etc/motd', { mode: 0o644 }))],
    [
      'kernel arguments without Ignition',
      { spec: { config: undefined, kernelArguments: ['nosmt'] } },
    ],
    ['a null config', { spec: { config: null } }],
    [
      'keys and password of core',
      {
        config: {
          passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['k'], passwordHash: 'x' }] },
        },
      },
    ],
    ['a kernel and an extension', { spec: { kernelType: 'realtime', extensions: ['usbguard'] } }],
    [
      'a unit with comments and continued lines',
      unit({ contents: '# a\n\n[Unit]\n; b\nAfter=a \\\n b\n[Service]\nExecStart=/a\\\n\n' }),
    ],
    ['a file that stays where it exists', files({ path: '/a', overwrite: false })],
    [
      'a file system',
      storage({ filesystems: [{ ...onVar, format: 'xfs' }, { device: '/dev/b' }] }),
    ],
    ['a unit with a long line', unit({ contents: `[Service]\nExecStart=${'a'.repeat(2037)}` })],
    ['a unit with a drop-in', unit({ dropins: [{ name: '10-a.conf', contents: '[Unit]\n' }] })],
    ['the extension that ended with 4.21', { spec: { extensions: ['wasm'] } }],
    ['kernel-devel of the usual kernel', { spec: { extensions: ['kernel-devel'] } }],
    [
      'a rendered MachineConfig',
      {
        ...files(file('/etc/kubernetes/kubelet.conf')),
        metadata: {
          labels: {},
          annotations: { 'machineconfiguration.openshift.io/generated-by-controller-version': 'v' },
        },
        spec: { osImageURL: 'quay.io/os@sha256:0' },
      },
    ],
  ])('with %s has no findings', (_, given) => {
    expect(rulesOf(given)).toEqual([]);
  });

  it.each<[string, Given, string]>([
    ['a relative path', files(file('etc/motd')), 'error path-relative'],
    ['an empty config', { spec: { config: {} } }, 'error ignition.no-version'],
    ['a duplicate path', files(file('/a'), file('/a')), 'error duplicate-entry'],
    ['a wrong type', { config: { storage: { files: [{ path: 1 }] } } }, 'error wrong-type'],
    [
      'an experimental spec',
      { config: { ignition: { version: '3.6.0-experimental' } } },
      'error ignition.version-unsupported',
    ],
    ['an unknown kernel', { spec: { kernelType: 'rt' } }, 'error kernel-type'],
    ['an unknown extension', { spec: { extensions: ['vim'] } }, 'error extension'],
    ['special bits in a mode', files(file('/a', { mode: 0o4755 })), 'error file-mode'],
    ['a file to append to', files({ path: '/a', append: [{ source: 'data:,x' }] }), 'error append'],
    ['the force file', files(file('/run/machine-config-daemon-force')), 'error force-file'],
    [
      'remote content',
      files({ path: '/a', contents: { source: 'https://example.com/a' } }),
      'error remote-content',
    ],
    [
      'a size beyond the limit of etcd',
      files(file('/etc/motd', { contents: { source: `data:,${'x'.repeat(1_572_864)}` } })),
      'error too-large',
    ],
    ['no role', { metadata: { labels: {} } }, 'warning no-role'],
    ['an invalid name', { name: '99-worker_rt' }, 'error name'],
    ['a config given as text', { spec: { config: '{}' } }, 'error wrong-type'],
    ['a decimal mode', files(file('/a', { mode: 644 })), 'error file-mode'],
    ['a mode with a fraction', files(file('/a', { mode: 420.5 })), 'error wrong-type'],
    ['a mode below 0', files(file('/a', { mode: -1 })), 'error file-mode'],
    [
      'a mode of a folder above 07777',
      { config: { storage: { directories: [{ path: '/a', mode: 40_755 }] } } },
      'error file-mode',
    ],
    ['two roles', { metadata: { labels: { [role]: 'master,worker' } } }, 'error wrong-type'],
    ['a blank after the role', { metadata: { labels: { [role]: 'worker ' } } }, 'error wrong-type'],
    ['a blank in a key', { metadata: { annotations: { 'my note': 'x' } } }, 'error wrong-type'],
    ['an unknown field', { spec: { kernelArgs: ['nosmt'] } }, 'error unknown-field'],
    ['a file below a file', files(file('/etc/a'), file('/etc/a/b/c')), 'error path-below-file'],
    ['a path with a slash at its end', files(file('/etc/a/')), 'error path-not-clean'],
    ['a path with two slashes', files(file('/etc//a')), 'error path-not-clean'],
    [
      'an owner by id and name',
      files(file('/a', { user: { id: 0, name: 'root' } })),
      'error owner',
    ],
    ['no content to overwrite with', files({ path: '/a' }), 'error no-content'],
    ['another compression', files(content('data:,x', { compression: 'xz' })), invalid],
    ['a hash of md5', files(content('data:,x', { verification: { hash: 'md5-0' } })), invalid],
    ['a data URL from a block of YAML', files(content('data:;base64,YQ==\n')), invalid],
    ['base64 before the character set', files(content('data:;base64;charset=a,YQ==')), invalid],
    ['a unit without an extension', unit({ name: 'a' }), 'error unit-name'],
    ['a unit with a misspelt extension', unit({ name: 'a.servce' }), 'error unit-name'],
    ['a unit with half a line', unit({ contents: '[Service]\nExecStart /a\n' }), 'error unit-text'],
    [
      'a unit with a longer line',
      unit({ contents: `[Service]\nExecStart=${'a'.repeat(2038)}` }),
      'error unit-text',
    ],
    ['a drop-in without .conf', unit({ dropins: [{ name: '10-a' }] }), 'error unit-name'],
    [
      'a drop-in with half a line',
      unit({ dropins: [{ name: 'a.conf', contents: '[Unit]\nAfter' }] }),
      'error unit-text',
    ],
    ['a device that is no path', storage({ disks: [{ device: 'sda' }] }), 'error path-relative'],
    ['a file system without a format', storage({ filesystems: [onVar] }), 'error format'],
    [
      'a file system of another format',
      storage({ filesystems: [{ ...onVar, format: 'zfs' }] }),
      'error format',
    ],
    [
      'a newer spec',
      { config: { ignition: { version: '3.6.0' } } },
      'error ignition.version-unsupported',
    ],
    [
      'kernel-devel of another kernel',
      { spec: { kernelType: 'realtime', extensions: ['kernel-devel'] } },
      'error extension',
    ],
    [
      'an image with a scheme',
      { spec: { osImageURL: 'docker://quay.io/a:b' } },
      'error wrong-type',
    ],
    ['an open quote', { spec: { kernelArguments: ['a="b c"', 'd="e f'] } }, 'warning open-quote'],
    ['a decimal mode without special bits', files(file('/a', { mode: 400 })), 'warning file-mode'],
    [
      'a decimal mode of a folder',
      { config: { storage: { directories: [{ path: '/a', mode: 755 }] } } },
      'warning file-mode',
    ],
  ])('with %s has one finding', (_, given, rule) => {
    expect(rulesOf(given)).toEqual([rule]);
  });

  it.each([
    ['another version', { apiVersion: 'machineconfiguration.openshift.io/v1beta1' }],
    ['a text as its spec', { spec: 'x' }],
    ['a list as its spec', { spec: [] }],
  ])('with %s is refused', (_, more) => {
    const findings = lintMachineConfigs([linted({ ...machineConfig({}), ...more })]);
    expect(findings.map(({ rule }) => rule)).toEqual(['wrong-type']);
  });

  it('names the field that an unknown one may mean', () => {
    const text = { ...machineConfig({}), kernelArguments: ['nosmt'] };
    expect(lintMachineConfigs([linted(text)]).map(({ message }) => message)).toEqual([
      'kernelArguments: unknown field: did you mean spec.kernelArguments? [unknown-field]',
    ]);
  });

  it('has each finding at its line', () => {
    const text = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 99-x
  labels:
    ${role}: worker
spec:
  kernelType: rt
  config:
    ignition: { version: 3.2.0 }
    storage:
      files:
        - path: /etc/a
          mode: 04755
          contents: { source: "data:," }
        - { path: relative, overwrite: false }
`;
    expect(
      lintMachineConfigs([linted(text, 'd/a.yaml')]).map(
        ({ place, rule }) => `${place} ${rule ?? ''}`,
      ),
    ).toEqual(['d/a.yaml:8 kernel-type', 'd/a.yaml:14 file-mode', 'd/a.yaml:16 path-relative']);
  });
});

describe('another file', () => {
  const found = (content: unknown, isInFolder = false) =>
    lintMachineConfigs([linted(content, 'a', isInFolder)]).map(
      ({ rule, message }) => rule ?? message,
    );

  it('of plain Ignition is checked by the rules of Ignition only', () => {
    expect(found({ ignition: { version: '3.2.0' }, storage: { files: [{ path: 'x' }] } })).toEqual([
      'path-relative',
    ]);
    expect(found({ ignition: { version: '2.2.0' } })).toEqual(['ignition.spec-2']);
    expect(
      found({ ignition: { version: '3.4.0' }, storage: { files: [{ path: '/x', mode: 0o4755 }] } }),
    ).toEqual([]);
  });

  it('of another kind is a finding when it was named, but not in a folder', () => {
    const pool = { kind: 'MachineConfigPool', metadata: { name: 'infra' } };
    expect(found(pool)).toEqual(['other-kind']);
    const host = { role: 'worker', ignition: { url: 'http://192.0.2.10/worker.ign' } };
    expect(found(host)).toEqual(['other-kind']);
    expect(found({ ignition: {} })).toEqual(['ignition.no-version']);
    for (const other of [pool, host, { baseDomain: 'example.com' }, [1], ''])
      expect(found(other, true)).toEqual([]);
    expect(found({ variant: 'openshift', version: '4.20.0' }, true)).toEqual(['other-kind']);
  });

  it('that is binary, invalid YAML or empty is a finding', () => {
    expect(found('\0')).toEqual([expect.stringContaining('this file is binary')]);
    expect(found('a: [')).toHaveLength(1);
    expect(found('a: [', true)).toHaveLength(1);
    expect(found('')).toEqual([expect.stringContaining('this is empty')]);
  });
});
