import { describe, expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { checkConfig, fingerprintOf } from './load.ts';
import { mirrorsForm } from './read-value.ts';
import { Config, type ConfigInput } from './schema.ts';
import type { Layer, SettingKey } from './settings.ts';

const layer = (origin: string, values: Partial<Record<SettingKey, unknown>>): Layer =>
  new Map(Object.entries(values).map(([key, value]) => [key as SettingKey, { value, origin }]));

/** Checks settings of a file. */
const check = (values: Partial<Record<SettingKey, unknown>>) => (): unknown =>
  checkConfig([layer('file c.yaml:3', values)]);
const refusalOf = (setting: SettingKey) =>
  expect.objectContaining({ code: 'config.invalid-value', context: { setting } }) as Error;

describe('checkConfig', () => {
  it('returns the defaults without layers', () => {
    const { config, origins } = checkConfig([]);
    expect(config).toEqual(Config.parse({}));
    expect(new Set(origins.values())).toEqual(new Set(['default']));
  });

  it('prefers the later layer, replaces whole lists, and records the origins', () => {
    const { config, origins } = checkConfig([
      layer('file', { 'disk.device': '/dev/a', 'disk.format': ['/dev/b', '/dev/c'] }),
      layer('flag', { 'disk.format': ['/dev/d'] }),
    ]);
    expect(config.disk).toMatchObject({ device: '/dev/a', format: ['/dev/d'] });
    expect(origins.get('disk.device')).toBe('file');
    expect(origins.get('disk.format')).toBe('flag');
    expect(origins.get('disk.cleanup')).toBe('default');
  });

  it('freezes the configuration deeply', () => {
    const { config } = checkConfig([layer('flag', { 'disk.format': ['/dev/d'] })]);
    expect(() => config.disk.format.push('/dev/e')).toThrow(TypeError);
    expect(() => Object.assign(config.service, { url: 'x' })).toThrow(TypeError);
  });

  it.each<[SettingKey, unknown, string]>([
    ['cluster.controlPlaneCount', '3', 'write a whole number from 0'],
    ['disk.format', '/dev/b', 'write a list of strings'],
    ['disk.device', { path: '/dev/sda' }, 'write a string'],
    ['role', 'mastre', 'write master'],
    ['image.source', 'nowhere', 'write one of auto, live, file, url, stream'],
    ['image.sha256', 'ABC', 'write a string of 64 lower-case hexadecimal digits'],
    ['proxy.http', 'http://user:50%@proxy:3128', 'write %25 for a percent sign'],
    [
      'image.writerArgs',
      '--copy-network',
      'write a list of strings, ["--append-karg", "ip=eth0:dhcp"] for example',
    ],
    ['cluster.controlPlaneCount', -1, 'write a whole number from 0'],
    [
      'registries.mirrors',
      [{ source: 'quay.io:4.20', mirrors: ['m.example'] }],
      `write ${mirrorsForm}`,
    ],
  ])('refuses %s as %j with its origin and a valid value', (key, value, hint) => {
    expect(check({ [key]: value })).toThrow(
      expect.objectContaining({
        code: 'config.invalid-value',
        context: { setting: key },
        hint,
        message: expect.stringMatching(`^file c.yaml:3: ${key}: `) as string,
      }),
    );
  });
});

it.each([
  ['5-7', true],
  ['[a-c]?', true],
  ['7-5', false],
  ['a**', false],
])('disk.keep accepts %j: %s', (entry, isTaken) => {
  const checked = check({ 'disk.keep': ['data', entry] });
  if (isTaken) expect(checked).not.toThrow();
  else expect(checked).toThrow(refusalOf('disk.keep'));
});

it.each<readonly [SettingKey, string, readonly string[]]>([
  ['network.keyfiles', '/net', ['--network-dir', '/other']],
  ['network.nmstate', '/a.yaml', ['--network-dir=/other']],
])('%s is refused when writerArgs sets another --network-dir', (setting, value, args) => {
  const checked = check({ [setting]: value, 'image.writerArgs': args });
  expect(checked).toThrow(refusalOf(setting));
});

it.each([
  ...(['registries.ca', 'hooks.before', 'hooks.after', 'network.keyfiles'] as const),
  ...(['network.nmstate', 'ignition.file', 'ignition.caFile', 'image.file'] as const),
])('%s accepts an absolute path, and refuses URLs and relative paths', (key) => {
  const given = (value: string) => check({ [key]: value });
  for (const url of ['https://user:p@secret#1@example.com/a', 'file:///a', 'HTTP://example.com']) {
    expect(given(url)).toThrow(refusalOf(key));
    expect(given(url)).not.toThrow('secret');
  }
  for (const path of ['/a', '/a:b//c', ''])
    if (key !== 'network.nmstate' || path !== '') expect(given(path)).not.toThrow();
  for (const path of ['a', './a']) expect(given(path)).toThrow(/is not a path of the host/);
});

it.each(['--ignition-file=/a', '--ignition-hash=sha256-00', '-i/a'])(
  'registries are refused when writerArgs has %s',
  (argument) => {
    const given = { 'image.writerArgs': [argument] };
    const mirrors = [{ source: 'quay.io', mirrors: ['m.example'] }];
    expect(check({ ...given, 'registries.mirrors': mirrors })).toThrow(
      refusalOf('registries.mirrors'),
    );
    expect(check({ ...given, 'registries.ca': '/ca.pem' })).toThrow(refusalOf('registries.ca'));
    expect(check({ ...given, 'registries.mirrors': [] })).not.toThrow();
  },
);

const of = (input: ConfigInput): string => fingerprintOf(Config.parse(input));

describe('fingerprintOf', () => {
  it('is the same SHA-256 for the same configuration', () => {
    expect(of({})).toMatch(/^[0-9a-f]{64}$/);
    expect(of({ disk: { device: '/dev/a' } })).toBe(of({ disk: { device: '/dev/a' } }));
  });

  it.each<[string, ConfigInput, ConfigInput?]>([
    ['a disk', { disk: { device: '/dev/a' } }],
    ['a role', { role: 'worker' }],
    ['writer arguments', { image: { writerArgs: ['--append-karg=a', '--append-karg=b'] } }],
    [
      'the order of writer arguments',
      { image: { writerArgs: ['--append-karg=a', '--append-karg=b'] } },
      { image: { writerArgs: ['--append-karg=b', '--append-karg=a'] } },
    ],
  ])('changes with %s', (_, input, other = {}) => {
    expect(of(input)).not.toBe(of(other));
  });

  it('does not change with the order of keys, at any depth', () => {
    const config = Config.parse({ disk: { device: '/dev/a' } });
    const reversed = Object.entries(config)
      .toReversed()
      .map(([section, value]) => [
        section,
        typeof value === 'object' ? Object.fromEntries(Object.entries(value).toReversed()) : value,
      ]);
    expect(fingerprintOf(Object.fromEntries(reversed) as Config)).toBe(fingerprintOf(config));
  });

  it.each<[string, ConfigInput]>([
    ['a token', { service: { token: new Secret('t') } }],
    ['a key', { s3: { secretAccessKey: new Secret('k') } }],
    ['proxies', { proxy: { https: 'http://u:renewed@p.example', no: '.svc' } }],
    ['service.stopIfCancelled', { service: { stopIfCancelled: false } }],
    ['log settings', { log: { verbose: true, format: 'json' } }],
  ])('does not change with %s', (_, input) => {
    expect(of(input)).toBe(of({}));
  });
});
