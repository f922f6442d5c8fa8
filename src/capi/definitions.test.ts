import { expect, it } from 'vitest';
import { listAt, partOf } from '../kube/object.ts';
import type { KubeObject } from '../ports/kube.ts';
import { bootstrapCrds } from './definitions.ts';

const [version] = listAt(bootstrapCrds[0], 'spec', 'versions');
const path = ['schema', 'openAPIV3Schema', 'properties', 'spec', 'properties'];
const spec = partOf(version as KubeObject, ...path) as KubeObject;
const patternOf = (...path: readonly string[]): RegExp =>
  new RegExp(partOf(spec, ...path, 'pattern') as string);

it.each([
  ['/dev/sda', true],
  ['/dev/disk/by-id/nvme-Dell_Ent_NVMe.1+x:y=z@a#b', true],
  [String.raw`/dev/disk/by-partlabel/a\x20b`, true],
  ['/dev/mapper/mpath.a', true],
  ['/dev/sda;reboot', false],
  ['/dev/sda reboot', false],
  ['/dev/$(reboot)', false],
  ['/dev/../etc/passwd', false],
  ['/dev/disk/./sda', false],
  ['/dev//sda', false],
  ['/dev/', false],
  [String.raw`/dev/a\b`, false],
  ['sda', false],
])('installDevice %s is taken: %s', (device, isTaken) => {
  expect(patternOf('installDevice').test(device)).toBe(isTaken);
});

it.each([
  ['http://proxy.example.com:3128', true],
  ['http://user:p%40ss@proxy:3128/', true],
  ['http://user:p@ss#w@proxy:3128', false],
  ['proxy:3128', false],
])('the proxy %s is taken: %s', (url, isTaken) => {
  expect(patternOf('proxy', 'properties', 'httpProxy').test(url)).toBe(isTaken);
});

it.each([
  ['node-0.example.com', true],
  ['$METADATA_NAME', true],
  ['rack1-$METADATA_UUID', true],
  ['a b', false],
  ['-a', false],
  ['a;b', false],
])('the name %s of a node is taken: %s', (name, isTaken) => {
  expect(patternOf('nodeRegistration', 'properties', 'name').test(name)).toBe(isTaken);
});
