import { describe, expect, it } from 'vitest';
import type { AgentError } from '../model/failure.ts';
import { fileLayer } from './yaml-file.ts';

const read = (text: string) => fileLayer({ path: 'c.yaml', text });
const findingsIn = (text: string): readonly AgentError[] => {
  const found: AgentError[] = [];
  fileLayer({ path: 'c.yaml', text }, (finding) => found.push(finding));
  return found;
};

describe('fileLayer', () => {
  it('reads sections and keys and records their lines', () => {
    const layer = read('role: worker\ndisk:\n  device: /dev/sda\n  format: [/dev/b]\nlog:\n');
    expect([...layer]).toEqual([
      ['role', { value: 'worker', origin: 'file c.yaml:1' }],
      ['disk.device', { value: '/dev/sda', origin: 'file c.yaml:3' }],
      ['disk.format', { value: ['/dev/b'], origin: 'file c.yaml:4' }],
    ]);
  });

  it.each(['', '# nothing\n', '---\n'])('accepts the empty file %j', (text) => {
    expect(read(text).size).toBe(0);
  });

  it.each([
    [
      'an alias',
      'image:\n  url: &u http://h/i\nignition:\n  url: *u\n',
      4,
      'aliases are not taken',
    ],
    ['an alias without an anchor', 'image:\n  url: *u\n', 2, 'aliases are not taken'],
    ['a duplicate key', 'role: worker\nrole: master\n', 2, 'Map keys must be unique'],
    ['a list as a key', '? [role]\n: worker\n', 1, 'a key must be a text'],
    ['nested keys', '? '.repeat(50), 1, 'a key must be a text'],
    ['deeply nested lists', `role: ${'['.repeat(5000)}`, 1, 'it is nested too deeply'],
    ['a second document', 'role: worker\n---\nrole: master\n', 2, 'one document is expected'],
  ])('refuses %s', (...[, text, line, problem]) => {
    expect(() => read(text)).toThrow(
      expect.objectContaining({
        code: 'config.malformed-file',
        message: expect.stringContaining(`c.yaml:${line}: ${problem}`) as string,
      }),
    );
  });

  it.each([
    ['a key of a section', 'disk:\n  devise: /dev/sda\n', 'disk.devise', 'disk.device', 2],
    ['a section', 'dsk:\n  device: /dev/sda\n', 'dsk', 'disk', 1],
    ['a key of another section', 'service:\n  hostId: h\n', 'service.hostId', 'cluster.hostId', 2],
    ['a key without its section', 'keyfiles: /net\n', 'keyfiles', 'network.keyfiles', 1],
    [
      'a key of two sections',
      'disk:\n  caFile: /c\n',
      'disk.caFile',
      'service.caFile or ignition.caFile',
      2,
    ],
  ])('refuses an unknown key and suggests the nearest: %s', (...[, text, key, near, line]) => {
    const findings = findingsIn(text);
    expect(findings[0]?.context).toEqual({});
    expect(findings).toMatchObject([
      {
        code: 'config.unknown-key',
        hint: expect.stringContaining(near) as string,
        message: `file c.yaml:${line}: ${key} is not a setting`,
      },
    ]);
  });

  it.each([
    ['network:\n  keyfiles: ./keys\n', 'network.keyfiles', '/etc/bootwright/keys'],
    ['ignition:\n  file: ../w.ign\n', 'ignition.file', '/etc/w.ign'],
    ['service:\n  tokenFile: token\n', 'service.tokenFile', '/etc/bootwright/token'],
    ['image:\n  stream: s.json\n', 'image.stream', '/etc/bootwright/s.json'],
    ['image:\n  stream: https://h/s.json\n', 'image.stream', 'https://h/s.json'],
    ['image:\n  stream: stable\n', 'image.stream', 'stable'],
    ['image:\n  file: /i.raw\n', 'image.file', '/i.raw'],
    ["image:\n  file: ''\n", 'image.file', ''],
  ] as const)('resolves a relative path against the folder of the file: %j', (text, key, path) => {
    const layer = fileLayer({ path: '/etc/bootwright/config.yaml', text });
    expect(layer.get(key)?.value).toBe(path);
  });

  it.each([
    ['invalid YAML', 'a: [\n'],
    ['a top-level list', '- a\n'],
    ['a scalar for a section', 'disk: /dev/sda\n'],
  ])('refuses %s', (_, text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: 'config.malformed-file' }));
  });

  it.each([
    'root:$6$hidden-salt$hash: 19000\n"x',
    '-----BEGIN KEY-----\nhidden-key: ]\n',
    'a: "hidden-text\n',
    'a: [hidden-one}\n',
    'a: !hidden-tag b\n',
    'a: *hidden-alias\n',
    'a: &hidden-anchor &hidden-other b\n',
    '%hidden-directive 1\n---\na: b\n',
    'a: |hidden-header\n  b\n',
    'hidden-secret/+=: a\n',
    'hiddensecretof33characters0123456: a\n',
    'disk:\n  hidden-secret/+=: a\n',
    'a: b: hidden-c\n',
    'hidden-word\n',
    '{"auths": {"r": {"auth": "hidden-auth"}}}\n',
  ])('does not quote a file that is not a configuration: %j', (text) => {
    const found = findingsIn(text);
    expect(found.length).toBeGreaterThan(0);
    for (const { message, context, hint } of found)
      expect(JSON.stringify([message, context, hint])).not.toContain('hidden');
  });

  it.each([
    ['log:\n  metrics: :9110\n', 'log.metrics', 'log.status'],
    ['host:\n  reach: dry\n', 'host.reach', 'bootwright plan'],
    ['dry:\n  hostId: a\n', 'dry', 'bootwright plan'],
  ])('names the replacement of a removed setting: %j', (text, key, instead) => {
    expect(findingsIn(text)).toMatchObject([
      {
        code: 'config.unknown-key',
        message: expect.stringContaining(`${key} was removed`) as string,
        hint: expect.stringContaining(instead) as string,
      },
    ]);
  });

  it.each([
    ['service:\n  token: hidden\n', 'service.tokenFile'],
    ['s3:\n  secretAccessKey: hidden\n', 's3.secretAccessKeyFile'],
  ])('refuses a secret in %j and does not repeat it', (text, instead) => {
    expect(findingsIn(text)).toMatchObject([
      {
        code: 'config.inline-secret',
        hint: expect.stringContaining(instead) as string,
        message: expect.not.stringContaining('hidden') as string,
      },
    ]);
  });
});
