import { describe, expect, it } from 'vitest';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { Config } from '../../config/schema.ts';
import { keepsPartitions, kernelArgumentChanges, readWriterSetup } from './writer-args.ts';

describe('kernel arguments among those of the writer', () => {
  it.each<[string[], string[], string[]]>([
    [[], [], []],
    [['--append-karg', 'a', '--append-karg', 'b', '--delete-karg', 'c'], ['a', 'b'], ['c']],
    [['--append-karg=a=1', '--delete-karg=c'], ['a=1'], ['c']],
    [['--console', 'ttyS0', '--append-karg'], [], []],
    [['--copy-network', '--append-karg', 'x', '-n'], ['x'], []],
  ])('%j', (args, append, remove) => {
    expect(kernelArgumentChanges(args)).toEqual({ append, remove });
  });
});

it.each([
  [['--save-partlabel', 'data*'], true],
  [['--save-partindex=5-'], true],
  [['--append-karg', '--save-partlabels'], false],
  [[], false],
])('%j keeps partitions: %s', (args, expected) => {
  expect(keepsPartitions(args)).toBe(expected);
});

describe('configuration files of the writer', () => {
  const ask = (writerArgs: readonly string[], text?: string) => {
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
    expect(await ask(args, text)).toMatchObject({ keepsPartitions: expected });
  });

  it.each([
    ['is not there', undefined],
    ['is no YAML', 'a: [\n'],
    ['may keep partitions by a key that is not known', 'save-partuuid: a\n'],
    ['names a disk of its own', 'dest-device: /dev/sdb\n'],
    ['has Ignition from a URL', 'ignition-url: http://i\n'],
    ['has a console that is none', 'console: [tty0, ttyX]\n'],
  ])('fails, before anything is lost, when one %s', async (_what, text) => {
    await expect(ask(named, text)).rejects.toMatchObject({ code: 'image.writer-config' });
  });
});
