import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readSource } from '../../../src/cli/layer/files.ts';
import { readBuildRequest } from './os-build.ts';

const example = join(import.meta.dirname, 'os-config.yaml');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bootwright-order-'));
});
afterEach(() => rm(folder, { recursive: true }));

const changed = async (from: string | RegExp, to: string): Promise<string> => {
  const path = join(folder, 'os.yaml');
  const { text } = await readSource(example);
  await writeFile(path, text.replaceAll(from, to));
  return path;
};

describe('readBuildRequest', () => {
  it('replaces only the push spec of the file', async () => {
    const { pushSpec, textFor } = await readBuildRequest(example);
    expect(pushSpec).toBe('registry.example.test/ocl/master:latest');
    const read = parse((await readSource(example)).text) as { spec: object };
    expect(JSON.parse(textFor('127.0.0.1:5000/ocl/master'))).toMatchObject({
      ...read,
      spec: { ...read.spec, renderedImagePushSpec: '127.0.0.1:5000/ocl/master:latest' },
    });
  });

  it.each([
    [
      /name: master/g,
      'name: worker',
      /os\.yaml:\d+: the virtual machine is a master: write master/,
    ],
    [/: Job/g, ': Pod', /imageBuilderType: Invalid input: expected "Job"/],
    [/kind: MachineOSConfig/g, 'kind: Secret', /expected a MachineOSConfig/],
  ])('refuses %s replaced by %s', async (from, to, words) => {
    await expect(readBuildRequest(await changed(from, to))).rejects.toThrow(words);
  });
});
