import { beforeEach, describe, expect, it } from 'vitest';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { Config } from '../../config/schema.ts';
import type { Secret } from '../../model/secret.ts';
import {
  keepsPartitions,
  kernelArgumentChanges,
  mayKeepPartitions,
  readWriterSetup,
  usesIn,
  valueOf,
} from './writer-args.ts';

describe('kernelArgumentChanges', () => {
  it.each<[string[], string[], string[]]>([
    [[], [], []],
    [['--append-karg', 'a', '--append-karg', 'b', '--delete-karg', 'c'], ['a', 'b'], ['c']],
    [['--append-karg=a=1', '--delete-karg=c'], ['a=1'], ['c']],
    [['--console', 'ttyS0', '--append-karg', 'a'], ['a', 'console=ttyS0'], []],
    [['--copy-network', '--append-karg', 'x', '-n'], ['x'], []],
  ])('reads %j', (args, append, remove) => {
    expect(kernelArgumentChanges(usesIn(args))).toEqual({ append, remove });
  });
});

it.each([
  [['--save-partlabel', 'data*'], true],
  [['--save-partindex=5-'], true],
  [['--append-karg', '--save-partlabels'], false],
  [[], false],
])('keepsPartitions for %j: %s', (args, expected) => {
  expect(keepsPartitions(args)).toBe(expected);
});

it.each([
  [['--save-partlabel', 'data', '-n'], true],
  [['-n', '--config-file', '/etc/writer.yaml'], true],
  [['-n'], false],
])('mayKeepPartitions for %j: %s', (args, expected) => {
  expect(mayKeepPartitions(args)).toBe(expected);
});

it.each([
  ['the last of its values', ['--image-url', 'a', '-u', 'b', '-n'], 'b'],
  ['undefined for an option that is not used', ['--image-file', 'f'], undefined],
  ['undefined where nothing is given', [], undefined],
])('valueOf is %s', (_what, args, value) => {
  expect(valueOf(usesIn(args), 'image-url', 'u')).toBe(value);
});

it('valueOf ignores a flag that a configuration file denies', () => {
  const uses = [
    { option: 'offline', value: 'true' },
    { option: 'offline', value: 'false' },
  ];
  expect(valueOf(uses, 'offline')).toBe('true');
  expect(valueOf(uses.slice(1), 'offline')).toBeUndefined();
});

describe('readWriterSetup', () => {
  const setup = (writerArgs: readonly string[], text?: string) => {
    const host = text === undefined ? fakeHost() : fakeHost().withFile('/etc/writer.yaml', text);
    const config = Config.parse({ image: { writerArgs: [...writerArgs] } });
    const hide = (secret: Secret) => hidden.push(secret.reveal());
    return readWriterSetup({ host, config, signal: new AbortController().signal, hide });
  };
  let hidden: string[] = [];
  beforeEach(() => (hidden = []));
  const named = ['--config-file', '/etc/writer.yaml'];

  it('hides the passwords of a file', async () => {
    await setup(named, 'append-karg: [rd.iscsi.password=s3cret]\nimage-url: https://u:s3cre2@h\n');
    expect(hidden).toEqual(['s3cret', 'u:s3cre2', 's3cre2']);
  });

  it.each([
    [[], undefined, false],
    [['--save-partlabel', 'data'], undefined, true],
    [named, 'copy-network: true\n', false],
    [named, 'save-partlabel: [data, "x*"]\n', true],
    [['-c', '/etc/writer.yaml'], 'save-partindex:\n- "5-"\n', true],
    [['-c/etc/writer.yaml', '-n'], 'save-partlabel: [data]\n', true],
    [['--config-file=/etc/writer.yaml'], 'save-partlabel: [data]\n', true],
    [named, '', false],
  ])('%j with %j keep partitions: %s', async (args, text, expected) => {
    expect(await setup(args, text)).toMatchObject({ keepsPartitions: expected });
  });

  it('has the options of the files first, and what keeps partitions apart', async () => {
    const args = [...named, '--save-partindex', '5-'];
    const kept = [
      { option: 'save-partlabel', value: 'a' },
      { option: 'save-partlabel', value: 'b' },
      { option: 'save-partindex', value: '5-' },
    ];
    expect(await setup(args, 'save-partlabel: [a, b]\n')).toEqual({
      keepsPartitions: true,
      saved: kept,
      uses: [...kept.slice(0, 2), { option: 'config-file', value: '/etc/writer.yaml' }, kept[2]],
    });
  });

  it.each([
    ['does not exist', undefined],
    ['is not YAML', 'a: [\n'],
    ['has an unknown key that may keep partitions', 'save-partuuid: a\n'],
    ['has a key in capitals that may keep partitions', 'Save-Partlabel: [a]\n'],
    ['has a misspelt key that may keep partitions', 'partlabel: [a]\n'],
    ['is a text', 'save-partlabel data\n'],
    ['is a list', '- save-partlabel: [data]\n'],
    ['names a target disk', 'dest-device: /dev/sdb\n'],
    ['has Ignition from a URL', 'ignition-url: http://i\n'],
    ['has an invalid console', 'console: [tty0, ttyX]\n'],
  ])('fails when the config file %s', async (_what, text) => {
    await expect(setup(named, text)).rejects.toMatchObject({
      code: 'image.writer-config',
      context: { path: '/etc/writer.yaml' },
    });
  });
});
