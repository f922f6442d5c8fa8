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
/** The settings that the failure lists as missing. */
function missingIn(layer: Layer): readonly string[] {
  try {
    requireComplete(layer);
    return [];
  } catch (error) {
    return String((error as AgentError).context['settings']).split(', ');
  }
}

const id: Values = { 's3.accessKeyId': 'AKIA' };

describe('the role', () => {
  const line = '--url http://h --cluster-id c --host-id h --boot-device /dev/sda'.split(' ');
  it.each<[string, readonly string[], Record<string, string>, readonly string[]]>([
    ['flags of assisted-installer alone', line, { HTTPS_PROXY: 'http://p:1' }, []],
    ['a flag of Bootwright', [...line, '--image.source', 'live'], {}, ['role']],
    ['a variable of Bootwright', line, { BOOTWRIGHT_IMAGE_SOURCE: 'live' }, ['role']],
    ['both with a role', ['-r', 'worker', ...line, '--image.source', 'live'], {}, []],
  ])('is not master by default beside %s', (...[, argv, environment, keys]) => {
    expect(missingIn(mergeLayers(layersOver([], readFlags(argv), environment)))).toEqual(keys);
  });

  it('is not master by default in a file', () => {
    const origin = 'file host.yaml:3';
    const disk = [['disk.device', { value: '/dev/sda', origin }]] as const;
    expect(missingIn(new Map([...given(service), ...disk]))).toEqual(['role']);
  });
});

describe('requireComplete', () => {
  it.each<[string, Values, readonly SettingKey[]]>([
    ['nothing at all', {}, ['disk.device', 'service.url']],
    ['no disk', { ...service, 'disk.device': '' }, ['disk.device']],
    [
      'no disk, into the running root',
      { ...service, 'disk.device': '', 'image.existingRoot': 'quay.io/x' },
      [],
    ],
    ['a disk by hints', { ...service, 'disk.device': '', 'disk.hints': { rotational: false } }, []],
    ['no cluster', { ...service, 'cluster.id': '' }, ['cluster.id']],
    ['no host', { ...service, 'cluster.hostId': '' }, ['cluster.hostId']],
    ['no host, version 1', { ...service, 'cluster.hostId': '', 'service.api': 'v1' }, []],
    ['no host, one node', { ...service, 'cluster.hostId': '', 'cluster.controlPlaneCount': 1 }, []],
    [
      'a store without a bucket',
      { 'disk.device': '/dev/sda', 's3.endpoint': 'http://s' },
      ['s3.bucket', 'cluster.id'],
    ],
    ['a store without keys', store, []],
    ['a store with both keys', { ...store, ...id, 's3.secretAccessKey': new Secret('s') }, []],
    ['a key in a file', { ...store, ...id, 's3.secretAccessKeyFile': '/key' }, []],
    ['an id without its key', { ...store, ...id }, ['s3.secretAccessKey']],
    [
      'an id with an empty key',
      { ...store, ...id, 's3.secretAccessKey': new Secret('') },
      ['s3.secretAccessKey'],
    ],
    ['a key without its id', { ...store, 's3.secretAccessKeyFile': '/key' }, ['s3.accessKeyId']],
    [
      'a file that is asked for and not named',
      { ...service, 'ignition.source': 'file' },
      ['ignition.file'],
    ],
    ['an image that is not named', { ...service, 'image.source': 'url' }, ['image.url']],
  ])('%s', (_, values, keys) => {
    expect(missingIn(given(values))).toEqual(keys);
  });

  it.each<[string, Values, string | undefined]>([
    ['always', { 'cluster.controlPlaneCount': 2 }, 'config.invalid-value'],
    ['always', { 'cluster.controlPlaneCount': 3 }, undefined],
    ['auto', { 'cluster.controlPlaneCount': 2 }, undefined],
  ])('with etcdOverride %s and %j is refused with %s', (etcdOverride, more, code) => {
    const layer = given({ ...service, ...more, 'bootstrap.etcdOverride': etcdOverride });
    const check = (): void => requireComplete(layer);
    if (code === undefined) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ code, kind: 'input' }) as Error);
  });

  it('refuses nmstate beside keyfiles', () => {
    const layer = given({ ...service, 'network.keyfiles': '/n', 'network.nmstate': '/n.yaml' });
    expect(() => requireComplete(layer)).toThrow(
      expect.objectContaining({
        code: 'config.invalid-value',
        context: { settings: 'network.keyfiles, network.nmstate' },
      }) as Error,
    );
  });

  it('names the variable where the contract of 2020 lacks the disk', () => {
    const store = { value: 's3', origin: 'environment S3_URL' };
    const layer: Layer = new Map([['ignition.source', store]]);
    expect(missingIn(layer)[0]).toBe('disk.device');
    expect(() => {
      requireComplete(layer);
    }).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(/^set DEVICE=[^;]*;/) as string }),
    );
  });

  it('is thrown as one failure that names every setting', () => {
    expect(() => {
      requireComplete(given({}));
    }).toThrow(
      expect.objectContaining({
        code: 'config.incomplete',
        kind: 'input',
        context: { settings: 'disk.device, service.url' },
        hint: expect.stringContaining('--boot-device') as string,
      }),
    );
  });
});

describe('ignitionSourceOf', () => {
  const everything: Values = {
    'ignition.file': '/f',
    'ignition.url': 'http://u',
    's3.endpoint': 'http://s',
    's3.bucket': 'b',
    'service.url': 'http://h',
  };

  it.each<[string, Values, string | undefined]>([
    ['the most particular', everything, 'file'],
    ['a URL before a store', { ...everything, 'ignition.file': '' }, 'url'],
    [
      'a store before the service',
      { ...service, 's3.endpoint': 'http://s', 's3.bucket': 'b' },
      's3',
    ],
    ['the service before half a store', { ...service, 's3.endpoint': 'http://s' }, 'service'],
    ['half a store when there is nothing else', { 's3.endpoint': 'http://s' }, 's3'],
    ['what is asked for', { ...everything, 'ignition.source': 'service' }, 'service'],
    ['nothing', {}, undefined],
  ])('takes %s', (_, values, source) => {
    expect(ignitionSourceOf(given(values))).toBe(source);
  });
});

describe('derive', () => {
  it.each<[string, Partial<Record<SettingKey, unknown>>, SettingKey, unknown]>([
    ['an infra-env is the cluster', { 'cluster.id': 'c' }, 'cluster.infraEnvId', 'c'],
    [
      'an empty infra-env is the cluster',
      { 'cluster.id': 'c', 'cluster.infraEnvId': '' },
      'cluster.infraEnvId',
      'c',
    ],
    [
      'a worker counts no control plane',
      { role: 'worker', 'cluster.controlPlaneCount': 1 },
      'cluster.controlPlaneCount',
      0,
    ],
  ])('%s', (...[, values, key, value]) => {
    expect(derive(given(values)).get(key)?.value).toBe(value);
  });

  it.each([
    [undefined, ['--copy-network', '--network-dir=/net']],
    [
      ['--append-karg', 'a'],
      ['--append-karg', 'a', '--copy-network', '--network-dir=/net'],
    ],
    [['-n'], ['-n', '--network-dir=/net']],
    [
      ['-n', '--network-dir', '/net'],
      ['-n', '--network-dir', '/net'],
    ],
    ['no list', 'no list'],
  ])('keyfiles are taken along, beside %j', (args, value) => {
    const values = { 'network.keyfiles': '/net', ...(args && { 'image.writerArgs': args }) };
    expect(derive(given(values)).get('image.writerArgs')?.value).toEqual(value);
  });

  it('partitions to keep follow the arguments that are given', () => {
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

  it('partitions are kept beside arguments that a file leaves empty', () => {
    const values = { 'disk.keep': ['data*'], 'image.writerArgs': undefined };
    expect(derive(given(values)).get('image.writerArgs')?.value).toEqual([
      '--save-partlabel=data*',
    ]);
  });

  it('keyfiles are taken along that nmstatectl makes', () => {
    expect(derive(given({ 'network.nmstate': '/host.yaml' })).get('image.writerArgs')).toEqual({
      value: ['--copy-network', '--network-dir=/opt/install-dir/network'],
      origin: 'derived from network.nmstate',
    });
  });
});
