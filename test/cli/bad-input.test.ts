import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bundle, copyBundle } from './bundle.ts';

let bundle: Bundle;
let folder: string;
let reports: string[] = [];
const service = createServer((request, response) => {
  void text(request).then((body) => {
    reports.push(body);
    response.end('{}');
  });
});
beforeAll(async () => {
  bundle = await copyBundle();
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  folder = await mkdtemp(join(tmpdir(), 'bootwright-input-'));
});
afterAll(async () => {
  service.close();
  await rm(bundle.directory, { recursive: true });
  await rm(folder, { recursive: true });
});

const ids = '--cluster-id c --host-id h --boot-device /dev/null';
const line = `-r worker --url URL ${ids}`;

async function refused(words: readonly string[], given: Record<string, string> = {}) {
  reports = [];
  // Without nsenter the program cannot change this machine.
  const environment = { PATH: folder, ...given };
  const { port } = service.address() as AddressInfo;
  const argv = words.map((word) => (word === 'URL' ? `http://127.0.0.1:${port}` : word));
  // Process 1 of this machine does not belong to the test.
  const own = { BOOTWRIGHT_HOST_ROOT: '/', ...environment };
  const { exitCode, stdout, stderr } = await bundle.run(argv, { environment: own });
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/^failed: .+\n(?:why: .+\n)?next: .+\n$/);
  expect(stderr).not.toMatch(/\.(ts|mjs|js):\d/);
  expect(stderr).toMatch(/^failed: /m);
  // Input that cannot be read does not report a host as failed.
  expect(reports).toEqual([]);
  return stderr;
}

describe('bad input on the command line', () => {
  it.each([
    ['an unknown flag', `${line} --boot-devise x`, 'cli.unknown-flag', '--boot-device'],
    ['a secret', `${line} --service.token hidden`, 'config.inline-secret', 'tokenFile'],
    ['a CA file without certificates', `${line} --cacert /etc/passwd`, 'web.bad-authority', 'PEM'],
  ])('refuses %s', async (...[, words, code, text]) => {
    const stderr = await refused(words.split(' '));
    expect(stderr).toContain(code);
    expect(stderr).toContain(text);
    expect(stderr).not.toContain('hidden');
  });

  it('names the missing settings of the contract of 2020', async () => {
    const stderr = await refused(['-r', 'worker'], { S3_URL: 'http://s', CLUSTER_ID: 'c' });
    expect(stderr).toContain('s3.bucket');
    expect(stderr).toContain('DEVICE=');
  });
});

it('refuses an unknown key in a configuration file', async () => {
  const path = join(folder, 'c.yaml');
  await writeFile(path, 'disk:\n  devise: /dev/sda\n');
  const stderr = await refused([...line.replace('-r worker ', '').split(' '), '--config', path]);
  expect(stderr).toContain('config.unknown-key');
  expect(stderr).toContain('disk.device');
});
