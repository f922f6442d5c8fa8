import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findInConfig } from './load.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bootwright-findings-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function mistakesOf(
  text: string,
  { flags = '', environment = {} }: { flags?: string; environment?: Record<string, string> } = {},
): Promise<readonly string[]> {
  const path = join(folder, 'host.yaml');
  await writeFile(path, text);
  const argv = [
    '-r',
    'master',
    '--config',
    path,
    ...flags.split(' ').filter((word) => word !== ''),
  ];
  const { mistakes } = await findInConfig(argv, environment);
  return mistakes.map(({ code, message }) => `${code} ${message.replaceAll(path, 'host.yaml')}`);
}

const complete = `service:
  url: http://service.example
cluster:
  id: c
  hostId: h
disk:
  device: /dev/sda
`;

describe('findInConfig', () => {
  it('finds nothing in a valid configuration', async () => {
    expect(await mistakesOf(complete)).toEqual([]);
  });

  it('finds all mistakes of a file with their lines', async () => {
    const text = `service:
  url: not a url
  tokn: secret
disk:
  device: [sda]
image:
  sha256: abc
  source: tape
`;
    expect(await mistakesOf(text)).toEqual([
      expect.stringContaining('config.unknown-key file host.yaml:3: service.tokn is not'),
      expect.stringContaining('config.invalid-value file host.yaml:2: service.url'),
      expect.stringContaining('config.invalid-value file host.yaml:5: disk.device'),
      expect.stringContaining('config.invalid-value file host.yaml:8: image.source'),
      expect.stringContaining('config.invalid-value file host.yaml:7: image.sha256'),
    ]);
  });

  it('finds the mistakes of flags, variables and files together', async () => {
    const found = await mistakesOf(`${complete}log:\n  colour: red\n`, {
      flags: '--nope x --control-plane-count three --url',
      environment: { BOOTWRIGHT_NOPE: '1', BOOTWRIGHT_IMAGE_SHA256: 'abc', HTTP_PROXY: 'http://[' },
    });
    expect(found.map((text) => text.split(': ')[0])).toEqual([
      'cli.unknown-flag flag --nope does not exist',
      'cli.bad-flag flag --url',
      'config.unknown-key file host.yaml:9',
      'config.unknown-variable environment BOOTWRIGHT_NOPE',
      'config.invalid-value flag --control-plane-count',
      'config.invalid-value environment BOOTWRIGHT_IMAGE_SHA256',
      'config.invalid-value environment HTTP_PROXY',
    ]);
  });

  it('reports each missing setting, but not one with an invalid value', async () => {
    expect(await mistakesOf('service:\n  url: no\ncluster:\n  id: c\n')).toEqual([
      expect.stringContaining('config.invalid-value file host.yaml:2: service.url'),
      'config.incomplete no install disk is set',
    ]);
    expect(await mistakesOf('image:\n  source: url\n')).toEqual([
      'config.incomplete no install disk is set',
      'config.incomplete no source of Ignition is set',
      'config.incomplete image.source is url, but image.url is not set',
    ]);
  });

  it('reports only the syntax error of a malformed file', async () => {
    const found = await mistakesOf('disk: { device: /dev/sda\nnope: 1\n', { flags: '--url no' });
    expect(found).toEqual([expect.stringContaining('config.malformed-file file host.yaml:')]);
  });

  it('reports files that cannot be read', async () => {
    const found = await mistakesOf(`${complete}  # none\n`, {
      flags: `--config ${folder}/none.yaml --cacert ${folder}/none.pem`,
    });
    expect(found).toEqual([
      expect.stringContaining('config.file-not-read flag --config'),
      expect.stringContaining('config.file-not-read flag --cacert'),
    ]);
  });
});
