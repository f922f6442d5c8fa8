import { describe, expect, it } from 'vitest';
import type { AgentError } from '../model/failure.ts';
import { Secret } from '../model/secret.ts';
import { derive, ignitionSourceOf, requireComplete } from './complete.ts';
import { type Layer, mergeLayers, type SettingKey } from './settings.ts';
import { readFlags } from './flags.ts';
import { layersOver } from './load.ts';

type Values = Partial<Record<SettingKey, unknown>>;

const given = (values: Values): Layer =>
  new Map(
    Object.entries(values).map(([key, value]) => [key as SettingKey, { value, origin: 'test' }]),
  );

const service: Values = {
  'disk.device': '/dev/sda',
  'service.url': 'http://h',
  'cluster.id': 'c',
  'cluster.hostId': 'h',
};

const store: Values = {
  'disk.device': '/dev/sda',
  's3.endpoint': 'http://s',
  's3.bucket': 'b',
  'cluster.id': 'c',
};
/** Returns the settings that the error lists as missing. */
function missingIn(layer: Layer): readonly string[] {
  try {
    requireComplete(layer);
    return [];
  } catch (error) {
    return String((error as AgentError).context['settings']).split(', ');
  }
}

const id: Values = { 's3.accessKeyId': 'AKIA' };

describe('requireComplete without a role', () => {
  const line = '--url http://h --cluster-id c --host-id h --boot-device /dev/sda'.split(' ');
  it.each([
    ['accepts flags of assisted-installer alone', line, { HTTPS_PROXY: 'http://p:1' }, []],
    [
      'requires a role beside a flag of Bootwright',
      [...line, '--image.source', 'live'],
      {},
      ['role'],
    ],
    [
      'requires a role beside a variable of Bootwright',
      line,
      { BOOTWRIGHT_IMAGE_SOURCE: 'live' },
      ['role'],
    ],
    [
      'accepts flags of both with a role',
      ['-r', 'worker', ...line, '--image.source', 'live'],
      {},
      [],
    ],
  ])('%s', (...[, argv, environment, keys]) => {
    expect(missingIn(mergeLayers(layersOver([], readFlags(argv), environment)))).toEqual(keys);
  });

  it('requires a role beside a configuration file', () => {
    const origin = 'file host.yaml:3';
    const disk = [['disk.device', { value: '/dev/sda', origin }]] as const;
    expect(missingIn(new Map([...given(service), ...disk]))).toEqual(['role']);
  });
});

describe('requireComplete', () => {
  it.each([
    ['no settings', {}, ['disk.device', 'service.url']],
    ['no disk', { ...service, 'disk.device': '' }, ['disk.device']],
    [
      'no disk, installing into the running root',
      { ...service, 'disk.device': '', 'image.existingRoot': 'quay.io/x' },
      [],
    ],
    [
      'root device hints for a disk',
      { ...service, 'disk.device': '', 'disk.hints': { rotational: false } },
      [],
    ],
    ['no cluster', { ...service, 'cluster.id': '' }, ['cluster.id']],
    ['no host', { ...service, 'cluster.hostId': '' }, ['cluster.hostId']],
    ['no host, API version 1', { ...service, 'cluster.hostId': '', 'service.api': 'v1' }, []],
    [
      'no host, single node',
      { ...service, 'cluster.hostId': '', 'cluster.controlPlaneCount': 1 },
      [],
    ],
    [
      'an object store without a bucket',
      { 'disk.device': '/dev/sda', 's3.endpoint': 'http://s' },
      ['s3.bucket', 'cluster.id'],
    ],
    ['an object store without keys', store, []],
    [
      'an object store with both keys',
      { ...store, ...id, 's3.secretAccessKey': new Secret('s') },
      [],
    ],
    ['a secret key in a file', { ...store, ...id, 's3.secretAccessKeyFile': '/key' }, []],
    ['an access key id without its secret key', { ...store, ...id }, ['s3.secretAccessKey']],
    [
      'an access key id with an empty secret key',
      { ...store, ...id, 's3.secretAccessKey': new Secret('') },
      ['s3.secretAccessKey'],
    ],
    [
      'a secret key without its access key id',
      { ...store, 's3.secretAccessKeyFile': '/key' },
      ['s3.accessKeyId'],
    ],
    [
      'ignition.source file without ignition.file',
      { ...service, 'ignition.source': 'file' },
      ['ignition.file'],
    ],
    ['image.source url without image.url', { ...service, 'image.source': 'url' }, ['image.url']],
  ])('lists what is missing for %s', (_, values, keys) => {
    expect(missingIn(given(values))).toEqual(keys);
  });

  it.each([
    ['always', 2, 'config.invalid-value'],
    ['always', 3, undefined],
    ['auto', 2, undefined],
  ])('for etcdOverride %s and %d masters throws %s', (etcdOverride, count, code) => {
    const values = { 'bootstrap.etcdOverride': etcdOverride, 'cluster.controlPlaneCount': count };
    const check = (): void => requireComplete(given({ ...service, ...values }));
    if (code === undefined) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ code, kind: 'input' }));
  });

  it('refuses network.nmstate together with network.keyfiles', () => {
    const layer = given({ ...service, 'network.keyfiles': '/n', 'network.nmstate': '/n.yaml' });
    expect(() => requireComplete(layer)).toThrow(
      expect.objectContaining({
        code: 'config.invalid-value',
        context: { settings: 'network.keyfiles, network.nmstate' },
      }),
    );
  });

  it('hints at DEVICE when the contract of 2020 lacks the disk', () => {
    const store = { value: 's3', origin: 'environment S3_URL' };
    const layer: Layer = new Map([['ignition.source', store]]);
    expect(missingIn(layer)[0]).toBe('disk.device');
    expect(() => requireComplete(layer)).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(/^set DEVICE=[^;]*;/) as string }),
    );
  });

  it('throws one error that lists all missing settings', () => {
    expect(() => requireComplete(given({}))).toThrow(
      expect.objectContaining({
        code: 'config.incomplete',
        kind: 'input',
        context: { settings: 'disk.device, service.url' },
        hint: expect.stringContaining('--boot-device') as string,
      }),
    );
  });
});

const everything: Values = {
  'ignition.file': '/f',
  'ignition.url': 'http://u',
  's3.endpoint': 'http://s',
  's3.bucket': 'b',
  'service.url': 'http://h',
};

it.each([
  ['a file before all others', everything, 'file'],
  ['a URL before an object store', { ...everything, 'ignition.file': '' }, 'url'],
  [
    'an object store before the service',
    { ...service, 's3.endpoint': 'http://s', 's3.bucket': 'b' },
    's3',
  ],
  [
    'the service before an incomplete object store',
    { ...service, 's3.endpoint': 'http://s' },
    'service',
  ],
  ['an incomplete object store without another source', { 's3.endpoint': 'http://s' }, 's3'],
  [
    'the source that ignition.source names',
    { ...everything, 'ignition.source': 'service' },
    'service',
  ],
  ['no source without settings', {}, undefined],
])('ignitionSourceOf selects %s', (_, values, source) => {
  expect(ignitionSourceOf(given(values))).toBe(source);
});

describe('derive', () => {
  it.each<[string, Values, SettingKey, unknown]>([
    ['a missing infra-env id to the cluster id', { 'cluster.id': 'c' }, 'cluster.infraEnvId', 'c'],
    [
      'an empty infra-env id to the cluster id',
      { 'cluster.id': 'c', 'cluster.infraEnvId': '' },
      'cluster.infraEnvId',
      'c',
    ],
    [
      'the control plane count of a worker to 0',
      { role: 'worker', 'cluster.controlPlaneCount': 1 },
      'cluster.controlPlaneCount',
      0,
    ],
  ])('sets %s', (...[, values, key, value]) => {
    expect(derive(given(values)).get(key)?.value).toBe(value);
  });

  it.each([
    ['', '--copy-network --network-dir=/net'],
    ['--append-karg a', '--append-karg a --copy-network --network-dir=/net'],
    ['-n', '-n --network-dir=/net'],
    ['-n --network-dir /net', '-n --network-dir /net'],
  ])('adds the options for keyfiles to the writer arguments "%s"', (line, expected) => {
    const args = line === '' ? {} : { 'image.writerArgs': line.split(' ') };
    const derived = derive(given({ 'network.keyfiles': '/net', ...args }));
    expect(derived.get('image.writerArgs')?.value).toEqual(expected.split(' '));
  });

  it('leaves writer arguments that are no list', () => {
    const values = { 'network.keyfiles': '/net', 'image.writerArgs': 'no list' };
    expect(derive(given(values)).get('image.writerArgs')?.value).toBe('no list');
  });

  it('appends the partitions to keep to the given writer arguments', () => {
    const values = {
      'disk.keep': ['data*', '5-', '0'],
      'network.keyfiles': '/net',
      'image.writerArgs': ['-n'],
    };
    expect(derive(given(values)).get('image.writerArgs')).toMatchObject({
      value: ['-n', '--network-dir=/net', '--save-partlabel=data*', '--save-partindex=5-'],
      origin: expect.stringMatching(
        /, derived from network.keyfiles, derived from disk.keep$/,
      ) as string,
    });
    expect(derive(given({ 'disk.keep': [] })).has('image.writerArgs')).toBe(false);
  });

  it('adds the partitions to keep when a file leaves image.writerArgs empty', () => {
    const values = { 'disk.keep': ['data*'], 'image.writerArgs': undefined };
    expect(derive(given(values)).get('image.writerArgs')?.value).toEqual([
      '--save-partlabel=data*',
    ]);
  });

  it('adds the options for keyfiles that nmstatectl generates', () => {
    expect(derive(given({ 'network.nmstate': '/host.yaml' })).get('image.writerArgs')).toEqual({
      value: ['--copy-network', '--network-dir=/opt/install-dir/network'],
      origin: 'derived from network.nmstate',
    });
  });
});
