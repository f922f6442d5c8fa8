import { describe, expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { checkConfig, fingerprintOf } from './load.ts';
import { mirrorsForm } from './read-value.ts';
import { Config, type ConfigInput } from './schema.ts';
import type { Layer, SettingKey } from './settings.ts';

const layer = (origin: string, values: Partial<Record<SettingKey, unknown>>): Layer =>
  new Map(Object.entries(values).map(([key, value]) => [key as SettingKey, { value, origin }]));

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

  it.each<[SettingKey, unknown]>([
    ['cluster.controlPlaneCount', '3'],
    ['disk.format', '/dev/b'],
    ['disk.device', { path: '/dev/sda' }],
  ])('refuses %s as %j and names its origin', (key, value) => {
    expect(() => checkConfig([layer('file c.yaml:3', { [key]: value })])).toThrow(
      expect.objectContaining({
        code: 'config.invalid-value',
        context: { setting: key },
        message: expect.stringContaining('file c.yaml:3') as string,
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
  const check = () => checkConfig([layer('file c.yaml:3', { 'disk.keep': ['data', entry] })]);
  if (isTaken) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ context: { setting: 'disk.keep' } }));
});

it.each<readonly [SettingKey, string, readonly string[]]>([
  ['network.keyfiles', '/net', ['--network-dir', '/other']],
  ['network.nmstate', '/a.yaml', ['--network-dir=/other']],
])('%s is refused when writerArgs sets another --network-dir', (setting, value, args) => {
  const values = { [setting]: value, 'image.writerArgs': args };
  expect(() => checkConfig([layer('file c.yaml:3', values)])).toThrow(
    expect.objectContaining({ context: { setting } }),
  );
});

it.each<SettingKey>([
  ...(['registries.ca', 'hooks.before', 'hooks.after', 'network.keyfiles'] as const),
  ...(['network.nmstate', 'ignition.file', 'ignition.caFile', 'image.file'] as const),
])('%s accepts an absolute path, and refuses URLs and relative paths', (key) => {
  const check = (value: string) => () => checkConfig([layer('file c.yaml:3', { [key]: value })]);
  for (const url of ['https://user:p@secret#1@example.com/a', 'file:///a', 'HTTP://example.com'])
    expect(check(url)).toThrow(
      expect.objectContaining({
        code: 'config.invalid-value',
        context: { setting: key },
        message: expect.not.stringContaining('secret') as string,
      }),
    );
  for (const path of ['/a', '/a:b//c', ''])
    if (key !== 'network.nmstate' || path !== '') expect(check(path)).not.toThrow();
  for (const path of ['a', './a']) expect(check(path)).toThrow(/is not a path of the host/);
});

it.each(['--ignition-file=/a', '--ignition-hash=sha256-00', '-i/a'])(
  'registries are refused when writerArgs has %s',
  (argument) => {
    for (const registries of [
      { 'registries.mirrors': [{ source: 'quay.io', mirrors: ['m.example'] }] },
      { 'registries.ca': '/ca.pem' },
    ]) {
      const values = { ...registries, 'image.writerArgs': [argument] };
      const [setting] = Object.keys(registries);
      expect(() => checkConfig([layer('file c.yaml:3', values)])).toThrow(
        expect.objectContaining({ code: 'config.invalid-value', context: { setting } }),
      );
    }
    const values = { 'registries.mirrors': [], 'image.writerArgs': [argument] };
    expect(() => checkConfig([layer('file c.yaml:3', values)])).not.toThrow();
  },
);

it.each<[SettingKey, unknown, string]>([
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
])('checkConfig hints at a valid value for %s as %j', (key, value, hint) => {
  expect(() => checkConfig([layer('file c.yaml:3', { [key]: value })])).toThrow(
    expect.objectContaining({
      code: 'config.invalid-value',
      hint,
      message: expect.stringMatching(`^file c.yaml:3: ${key}: `) as string,
    }),
  );
});

const of = (input: ConfigInput): string => fingerprintOf(Config.parse(input));

describe('fingerprintOf', () => {
  it('is the same SHA-256 for the same configuration', () => {
    expect(of({})).toMatch(/^[0-9a-f]{64}$/);
    expect(of({ disk: { device: '/dev/a' } })).toBe(of({ disk: { device: '/dev/a' } }));
  });

  it.each<[string, ConfigInput]>([
    ['a disk', { disk: { device: '/dev/a' } }],
    ['a role', { role: 'worker' }],
    ['writer arguments', { image: { writerArgs: ['--append-karg=a', '--append-karg=b'] } }],
  ])('changes with %s', (_, input) => {
    expect(of(input)).not.toBe(of({}));
  });

  it('changes with the order of writer arguments', () => {
    const ordered = ['--append-karg=a', '--append-karg=b'];
    const reversed = of({ image: { writerArgs: ordered.toReversed() } });
    expect(reversed).not.toBe(of({ image: { writerArgs: ordered } }));
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
