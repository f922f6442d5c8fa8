import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCapiApply } from './apply.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'bootwright-apply-'));
  mkdirSync(join(dir, 'infrastructure-manifests'));
  const state = 'apiVersion: v1\nmetadata: {name: demo}\ncontrolPlane: {replicas: 3}\n';
  writeFileSync(join(dir, 'install-config.yaml'), state);
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

const cluster = (apiVersion = 'cluster.x-k8s.io/v1beta2'): string =>
  `apiVersion: ${apiVersion}\nkind: Cluster\nmetadata: {name: demo}\nspec: {infrastructureRef: {apiGroup: a.test, kind: B, name: c}}\n`;

describe('what capi apply finds before it changes anything', () => {
  it.each([
    ['an object without metadata', `${cluster()}---\napiVersion: v1\nkind: A\n`, '6:1: metadata'],
    [
      'a name that is a number',
      `${cluster()}---\napiVersion: v1\nkind: A\nmetadata: {name: 5}\n`,
      '8',
    ],
    ['a List', `${cluster()}---\napiVersion: v1\nkind: List\nitems: []\n`, '8:1: a List'],
    ['an apiVersion that is a number', cluster('5'), '1:1: apiVersion'],
    ['a Cluster that is no YAML', 'a: [', '1:5: '],
  ])('%s, with its place', async (_, text, place) => {
    writeFileSync(join(dir, 'infrastructure-manifests', 'a.yaml'), text);
    const lines: string[] = [];
    vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
    const applied = runCapiApply({ dir, kubeconfig: '', check: true });
    await expect(applied).rejects.toMatchObject({ code: 'capi.input-invalid' });
    expect(lines.join('')).toContain(`error: infrastructure-manifests/a.yaml:${place}`);
  });
});
