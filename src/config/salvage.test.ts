import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { salvageConfig } from './salvage.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bootwright-salvage-'));
});
afterAll(() => rm(folder, { recursive: true }));

const line = '--url http://h:1 --cluster-id c --host-id h';
const salvage = async (words: string, environment: Record<string, string> = {}) => {
  const { service, cluster } = await salvageConfig(words.split(' '), environment);
  const { id, infraEnvId, hostId } = cluster;
  return {
    url: service.url.reveal(),
    token: service.token?.reveal(),
    ids: [id, infraEnvId, hostId],
  };
};

describe('salvageConfig', () => {
  it.each([
    ['an unknown flag before it', `--bogus x ${line}`],
    ['an unknown flag behind it', `${line} --bogus`],
    ['a value that is missing', `${line} --role`],
    ['a wrong value', `--installer-args [1] ${line}`],
    ['an unexpected argument', `worker ${line}`],
    ['a wrong value of what is wanted itself', `${line} --service.api v9`],
  ])('finds the service and the host in a line with %s', async (_, words) => {
    expect(await salvage(words)).toMatchObject({ url: 'http://h:1', ids: ['c', 'c', 'h'] });
  });

  it('finds them in an environment with unknown and wrong variables', async () => {
    const found = await salvage('--bogus', {
      BOOTWRIGHT_SERVICE_URL: 'http://h:1',
      BOOTWRIGHT_CLUSTER_ID: 'c',
      BOOTWRIGHT_CLUSTER_HOST_ID: 'h',
      BOOTWRIGHT_ROEL: 'worker',
      DRY_ENABLE: 'maybe',
      PULL_SECRET_TOKEN: 't',
    });
    expect(found).toEqual({ url: 'http://h:1', token: 't', ids: ['c', 'c', 'h'] });
  });

  it('finds them in a file with mistakes beside one that is not there', async () => {
    const [path, tokenFile] = [join(folder, 'c.yaml'), join(folder, 'token')];
    await writeFile(tokenFile, 't\n');
    const sections = [
      `service:\n  url: http://h:1\n  tokenFile: ${tokenFile}\n  urll: x`,
      'cluster:\n  id: c\n  hostId: h\n  controlPlaneCount: three',
      'disk: /dev/sda',
      'dsk:\n  device: [',
    ];
    await writeFile(path, `${sections.join('\n')}\n`);
    expect(await salvage(`--config /none --config ${path}`)).toEqual({
      url: 'http://h:1',
      token: 't',
      ids: ['c', 'c', 'h'],
    });
  });

  it('names no service where none is named, or by no URL', async () => {
    expect((await salvage('--bogus --boot-device /dev/sda')).url).toBe('');
    expect((await salvage('--url bogus --host-id h')).url).toBe('');
  });
});
