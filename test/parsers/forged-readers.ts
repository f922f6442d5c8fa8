// Every reader of what somebody else wrote, with input that is right.
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { readKubeconfig } from '../../src/adapters/kube/kubeconfig.ts';
import { readInstallConfig } from '../../src/capi/install-state.ts';
import { checkManifests } from '../../src/capi/manifests.ts';
import { readPkcs10 } from '../../src/cluster/csr/read-request.ts';
import { fileLayer } from '../../src/config/yaml-file.ts';
import { parseValidConfig } from '../../src/ignition/parse.ts';
import { mergePullSecrets } from '../../src/layering/registry/credentials.ts';
import { lintMachineConfigs } from '../../src/layering/manifests/lint-machine-config.ts';
import { readServedConfig } from '../../src/layering/manifests/served-config.ts';
import { readArchive } from '../../src/lib/archive.ts';
import { elementReader } from '../../src/lib/json.ts';
import { SecretUrl } from '../../src/lib/secret-url.ts';
import { parseYamlStream } from '../../src/lib/yaml-text.ts';
import { parseLsblk } from '../../src/steps/disk/block-devices.ts';
import { parseStream } from '../../src/steps/image/stream.ts';
import { forgedBytes } from '../support/forged-bytes.ts';

/** A reader and its input. */
export interface ForgedReader {
  readonly right: readonly [Buffer, ...Buffer[]];
  readonly read: (input: Buffer) => unknown;
  /** Wraps a forged input before it is read. */
  readonly wrap?: (input: Buffer) => Buffer;
  /** It throws plain errors, of which its caller makes one with a code. */
  readonly throwsErrors?: true;
}

const text = (...lines: readonly string[]): Buffer => Buffer.from(`${lines.join('\n')}\n`);
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

const configuration = text(
  ...[
    'role: worker',
    'service:',
    '  url: https://service.example.com',
    'disk:',
    '  device: /dev/sda',
  ],
  ...[
    'image:',
    '  writerArgs: ["--console", "ttyS0"]',
    'proxy:',
    '  no: [example.com, 192.0.2.0/24]',
  ],
);
const kubeconfig = text(
  ...['apiVersion: v1', 'kind: Config', 'current-context: a', 'contexts:'],
  ...['- name: a', '  context: {cluster: c, user: u}', 'clusters:', '- name: c'],
  ...[
    '  cluster: {server: "https://api.example.com:6443"}',
    'users:',
    '- name: u',
    '  user: {token: t}',
  ],
);
const osConfig = text(
  ...['apiVersion: machineconfiguration.openshift.io/v1', 'kind: MachineOSConfig', 'metadata:'],
  ...['  name: worker', 'spec:', '  machineConfigPool: {name: worker}', '  containerFile:'],
  ...['  - containerfileArch: NoArch', '    content: |', '      FROM configs AS final'],
  ...['      RUN dnf install -y tcpdump && ostree container commit'],
);
const installConfig = text(
  ...['apiVersion: v1', 'metadata: {name: demo}', 'baseDomain: example.com'],
  ...['controlPlane: {replicas: 3}', 'platform:', '  none: {}', `pullSecret: '{"auths":{}}'`],
);
const secretOf = (files: Readonly<Record<string, Buffer>>) => ({
  metadata: { name: 'a', annotations: { 'bootwright.io/manifest-folder': 'manifests' } },
  data: Object.fromEntries(
    Object.entries(files).map(([name, bytes]) => [name, bytes.toString('base64')]),
  ),
});
const ignition = {
  ignition: { version: '3.4.0' },
  storage: {
    files: [{ path: '/etc/a', mode: 420, contents: { source: 'data:,a%20b' } }],
    links: [{ path: '/etc/l', target: '/etc/a' }],
    disks: [{ device: '/dev/sda', partitions: [{ number: 1, label: 'data', sizeMiB: 10 }] }],
  },
  systemd: {
    units: [{ name: 'a.service', enabled: true, contents: '[Service]\nExecStart=/bin/a' }],
  },
};
const disk = {
  name: 'sda',
  kname: 'sda',
  path: '/dev/sda',
  type: 'disk',
  size: 1e11,
  'log-sec': 512,
};
const tarOf = async (): Promise<Buffer> => {
  const archive = pack();
  archive.entry({ name: 'a.log' }, 'a line\n'.repeat(20));
  archive.entry({ name: 'b.json' }, '{"a":1}');
  archive.finalize();
  return buffer(archive);
};
const pem = (bytes: Buffer): string =>
  `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
const derOf = (request: string): Buffer =>
  Buffer.from(request.replace(/-----[^-]+-----/g, ''), 'base64');

const read = (reader: (input: string) => unknown) => (input: Buffer) => reader(input.toString());

/** By name; each is run by `forged-run.ts`. */
export const readerTable: Readonly<Record<string, ForgedReader>> = {
  yaml: {
    right: [configuration, kubeconfig, osConfig],
    read: read((input) => {
      for (const document of parseYamlStream(input, { hasAliases: true }))
        document.toJS({ maxAliasCount: -1 });
    }),
  },
  configuration: {
    right: [configuration],
    read: read((input) => fileLayer({ path: 'c.yaml', text: input }, () => undefined)),
  },
  kubeconfig: { right: [kubeconfig], read: read(readKubeconfig) },
  'layering objects': {
    right: [osConfig],
    read: (bytes) => lintMachineConfigs([{ path: 'o.yaml', bytes, isInFolder: false }]),
  },
  'manifest Secrets': {
    right: [osConfig, json({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })],
    read: (input) => checkManifests([secretOf({ 'a.yaml': input, 'b.json': input })]),
  },
  'install state': {
    right: [installConfig, json({ '*installconfig.InstallConfig': { file: { Data: 'YQ==' } } })],
    read: (input) =>
      [{ config: input.toString() }, { state: input.toString() }].map((files) =>
        readInstallConfig({ config: undefined, state: undefined, ...files }),
      ),
  },
  ignition: { right: [json(ignition)], read: parseValidConfig },
  'served config': { right: [json(ignition)], read: readServedConfig },
  'pull secret': {
    right: [json({ auths: { 'registry.example.com:5000': { auth: 'dTpw', email: 'a@b' } } })],
    read: read((input) => mergePullSecrets([{ from: 'x', text: input }])),
  },
  'stream metadata': {
    right: [json({ stream: 'stable', architectures: { x86_64: { artifacts: { metal: {} } } } })],
    read: read((input) => parseStream(input, new SecretUrl('stream'))),
  },
  'hosts of a cluster': {
    right: [
      json({
        id: 'a',
        hosts: [
          { id: 'h', status: 'installed' },
          { id: 'i', tags: ['[', '"'] },
        ],
      }),
    ],
    read: read((input) => {
      const reader = elementReader({ name: 'hosts', take: () => undefined });
      for (let at = 0; at < input.length; at += 1000) reader.write(input.slice(at, at + 1000));
      reader.end();
    }),
    throwsErrors: true,
  },
  lsblk: {
    right: [
      json({ blockdevices: [{ ...disk, children: [{ ...disk, type: 'part', name: 'sda1' }] }] }),
    ],
    read: read(parseLsblk),
  },
  'certificate request': {
    right: (['client', 'serving'] as const).map((purpose) =>
      derOf(forgedBytes(purpose).right),
    ) as unknown as readonly [Buffer],
    wrap: (input) => Buffer.from(pem(input)),
    read: read(readPkcs10),
  },
  'log bundle': {
    right: [await tarOf()],
    wrap: (input) => gzipSync(input, { level: 1 }),
    read: readArchive,
    throwsErrors: true,
  },
};
