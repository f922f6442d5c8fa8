import { describe, expect, it } from 'vitest';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { Config } from '../../config/schema.ts';
import { keepsPartitions, kernelArgumentChanges, readWriterSetup } from './writer-args.ts';

describe('kernelArgumentChanges', () => {
  it.each<[string[], string[], string[]]>([
    [[], [], []],
    [['--append-karg', 'a', '--append-karg', 'b', '--delete-karg', 'c'], ['a', 'b'], ['c']],
    [['--append-karg=a=1', '--delete-karg=c'], ['a=1'], ['c']],
    [['--console', 'ttyS0', '--append-karg'], [], []],
    [['--copy-network', '--append-karg', 'x', '-n'], ['x'], []],
  ])('reads %j', (args, append, remove) => {
    expect(kernelArgumentChanges(args)).toEqual({ append, remove });
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

describe('readWriterSetup', () => {
  const setup = (writerArgs: readonly string[], text?: string) => {
    const host = text === undefined ? fakeHost() : fakeHost().withFile('/etc/writer.yaml', text);
    const config = Config.parse({ image: { writerArgs: [...writerArgs] } });
    return readWriterSetup({ host, config, signal: new AbortController().signal });
  };
  const named = ['--config-file', '/etc/writer.yaml'];

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

  it.each([
    ['does not exist', undefined],
    ['is not YAML', 'a: [\n'],
    ['has an unknown key that may keep partitions', 'save-partuuid: a\n'],
    ['names a target disk', 'dest-device: /dev/sdb\n'],
    ['has Ignition from a URL', 'ignition-url: http://i\n'],
    ['has an invalid console', 'console: [tty0, ttyX]\n'],
  ])('fails when the config file %s', async (_what, text) => {
    await expect(setup(named, text)).rejects.toMatchObject({ code: 'image.writer-config' });
  });
});
