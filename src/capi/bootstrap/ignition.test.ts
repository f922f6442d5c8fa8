import { describe, expect, it } from 'vitest';
import { readFlags } from '../../config/flags.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { readFileContent } from '../../ignition/resource.ts';
import { unitWord } from '../../ignition/live-agent.ts';
import { machineIgnition, type MachineInput, nodeIgnition } from './ignition.ts';

const agent = { image: 'r.test/agent@sha256:2' };
const input: MachineInput = {
  role: 'worker',
  spec: { agent },
  clusterId: 'c-1',
  infraEnvId: 'c-1',
  hostId: 'h-1',
  inventoryUrl: 'https://inventory.test:8443/',
  token: 'planted-token-17',
};

const configOf = (more: Partial<MachineInput> = {}) =>
  parseValidConfig(machineIgnition({ ...input, ...more }));
const unitOf = (more: Partial<MachineInput> = {}): string =>
  configOf(more).systemd?.units?.[0]?.contents ?? '';
const commandOf = (more: Partial<MachineInput> = {}): string =>
  unitOf(more)
    .split('\n')
    .find((line) => line.startsWith('ExecStart=')) ?? '';

/** The words after the image, split as by systemd for podman; quoted words are not split. */
const flagsOf = (more: Partial<MachineInput> = {}): readonly string[] => {
  const line = commandOf(more);
  const words = [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, bare]) =>
    (quoted?.replaceAll(/\\(.)/g, '$1') ?? bare ?? '').replaceAll('%%', '%').replaceAll('$$', '$'),
  );
  return words.slice(words.indexOf(agent.image) + 1);
};

describe('the Ignition of a live system', () => {
  it('runs the agent with flags that the agent accepts', () => {
    const flags = flagsOf({
      role: 'bootstrap',
      inventoryCa: 'PEM',
      spec: {
        agent,
        installDevice: '/dev/disk/by-id/a',
        rootDeviceHints: { model: 'SSD $1 100%', minSizeGigabytes: 400, rotational: false },
        kernelArguments: ['console=ttyS0', 'a="b c"'],
      },
      existingRoot: 'r.test/os',
      openshiftVersion: '4.19.7',
      controlPlaneCount: 3,
      mcoImage: 'r.test/mco',
      keyfiles: new Map([['eth0.nmconnection', 'x']]),
    });
    const { layer, notes } = readFlags(flags);
    expect(notes).toEqual([]);
    const textOf = (value: unknown) =>
      Object.getPrototypeOf(value) === Object.prototype ? JSON.stringify(value) : String(value);
    expect(Object.fromEntries([...layer].map(([key, { value }]) => [key, textOf(value)]))).toEqual({
      role: 'bootstrap',
      'service.url': expect.any(String) as string,
      'cluster.id': 'c-1',
      'cluster.infraEnvId': 'c-1',
      'cluster.hostId': 'h-1',
      'service.tokenFile': '/etc/bootwright/token',
      'service.caFile': '/etc/bootwright/ca.crt',
      'disk.device': '/dev/disk/by-id/a',
      'disk.hints': '{"model":"SSD $1 100%","minSizeGigabytes":400,"rotational":false}',
      'image.existingRoot': 'r.test/os',
      'cluster.openshiftVersion': '4.19.7',
      'cluster.controlPlaneCount': '3',
      'images.mco': 'r.test/mco',
      'images.agent': '',
      'images.controller': 'r.test/agent@sha256:2',
      'controller.withoutService': 'true',
      'image.writerArgs': '--append-karg,console=ttyS0,--append-karg,a="b c",--copy-network',
    });
  });

  it('keeps secrets out of the command line', () => {
    const secret = {
      pullSecret: '{"auths":{"r.test":{"auth":"planted-auth"}}}',
      spec: { agent, proxy: { httpsProxy: 'http://user:planted-proxy@proxy.test' } },
    };
    expect(unitOf(secret)).not.toMatch(/planted/);
    expect(commandOf(secret)).toContain('--authfile /root/.docker/config.json');
    const secretFiles = (configOf(secret).storage?.files ?? []).filter(
      ({ mode }) => (mode ?? 0) % 64 !== 0,
    );
    expect(secretFiles).toEqual([]);
    const proxy = Buffer.from(
      readFileContent(configOf(secret), '/etc/bootwright/proxy.env'),
    ).toString();
    expect(proxy).toBe('HTTPS_PROXY="http://user:planted-proxy@proxy.test"\n');
  });

  it.each([
    ['plain/word:1', 'plain/word:1'],
    ['100%', '100%%'],
    ['$HOME', '"$$HOME"'],
    ['two words', '"two words"'],
    ['a"b\\c', String.raw`"a\"b\\c"`],
    ['a\nb', String.raw`"a\x0ab"`],
    ['', '""'],
  ])('quotes %j for a systemd unit', (word, written) => {
    expect(unitWord(word)).toBe(written);
  });

  it('merges ignitionConfigOverride over the generated config', () => {
    const ignitionConfigOverride = JSON.stringify({
      ignition: { version: '3.4.0' },
      storage: { files: [{ path: '/etc/motd', contents: { source: 'data:,x' } }] },
    });
    const config = configOf({ spec: { agent, ignitionConfigOverride } });
    expect(config.ignition.version).toBe('3.4.0');
    expect(config.storage?.files?.map(({ path }) => path)).toContain('/etc/motd');
    expect(config.systemd?.units).toHaveLength(1);
  });
});

describe('the Ignition of a node', () => {
  const pointer =
    '{"ignition":{"version":"3.2.0","security":{"tls":{"certificateAuthorities":[{"source":"data:,old"}]}}}}';

  it('is the unchanged pointer without a provider ID and a node registration', () => {
    expect(nodeIgnition({ pointer })).toBe(pointer);
    expect(nodeIgnition({ pointer, providerID: '', nodeRegistration: {} })).toBe(pointer);
  });

  it("registers the Machine's provider ID, labels and a name that only the host knows", () => {
    const nodeRegistration = {
      name: '$METADATA_NAME',
      labels: { "it's": 'x', b: '$METADATA_UUID' },
    };
    const config = parseValidConfig(
      nodeIgnition({ pointer, providerID: 'metal3://ns/bmh/m', nodeRegistration }),
    );
    const script = Buffer.from(
      readFileContent(config, '/etc/bootwright/register-node.sh'),
    ).toString();
    expect(script).toContain("name='$METADATA_NAME'");
    expect(script).toContain("id='metal3://ns/bmh/m'");
    expect(script).toContain(String.raw`labels='it'\''s=x,b=$METADATA_UUID'`);
    expect(config.storage?.files?.map(({ path }) => path)).not.toContain('/etc/hostname');
  });
});
