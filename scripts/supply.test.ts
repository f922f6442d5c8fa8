// Everything external that enters the program and its image has a checksum and runs no install
// script.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

interface LockedPackage {
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
}

interface Packages {
  readonly lock: { readonly packages: Readonly<Record<string, LockedPackage>> };
  /** By package: whether its install script may run. */
  readonly allowScripts: Readonly<Record<string, boolean>>;
  readonly npmrc: string;
}

/** The packages of a folder with a lock file of its own; `.npmrc` is that of the tree. */
const packagesOf = (folder: string): Packages => ({
  lock: JSON.parse(read(`${folder}package-lock.json`)) as Packages['lock'],
  allowScripts: (JSON.parse(read(`${folder}package.json`)) as Packages).allowScripts,
  npmrc: read('.npmrc'),
});

const ours = packagesOf('');

/** Packages without a checksum or with an unlisted install script. */
function findingsIn({ lock, allowScripts, npmrc }: Packages): readonly string[] {
  const installed = Object.entries(lock.packages)
    .filter(([path]) => path !== '')
    .map(([path, entry]) => ({ name: path.replace(/^.*node_modules\//, ''), ...entry }));
  const withScript = installed.filter(({ hasInstallScript }) => hasInstallScript === true);
  const names = new Set(withScript.map(({ name }) => name));
  return [
    ...installed
      .filter(({ integrity }) => integrity?.startsWith('sha512-') !== true)
      .map(({ name }) => `${name} has no checksum`),
    ...[...names]
      .filter((name) => !(name in allowScripts))
      .map((name) => `${name} has an install script that allowScripts does not name`),
    ...Object.keys(allowScripts)
      .filter((name) => !names.has(name))
      .map((name) => `allowScripts names ${name}, which has no install script`),
    ...(/^ignore-scripts=true$/m.test(npmrc) ? [] : ['.npmrc lets install scripts run']),
  ];
}

const withPackage = (path: string, entry: LockedPackage): Packages => ({
  ...ours,
  lock: { packages: { ...ours.lock.packages, [path]: entry } },
});
const integrity = 'sha512-AAAA';

describe('npm packages', () => {
  it('have checksums, and no install script runs that is not listed', () => {
    expect(findingsIn(ours)).toEqual([]);
  });

  it.each<[string, Packages]>([
    ['git-one has no checksum', withPackage('node_modules/git-one', {})],
    ['weak-one has no checksum', withPackage('node_modules/weak-one', { integrity: 'sha1-AAAA' })],
    [
      '@scope/new has an install script that allowScripts does not name',
      withPackage('node_modules/a/node_modules/@scope/new', { integrity, hasInstallScript: true }),
    ],
    [
      'allowScripts names old, which has no install script',
      { ...ours, allowScripts: { ...ours.allowScripts, old: true } },
    ],
    ['.npmrc lets install scripts run', { ...ours, npmrc: 'ignore-scripts=false\n' }],
  ])('%s', (finding, packages) => {
    expect(findingsIn(packages)).toEqual([finding]);
  });
});

describe('the image', () => {
  it('is built in stages from the packages of the lock file', () => {
    const lines = read('Containerfile').match(/^(?:FROM|RUN) .*$/gm);
    expect(lines).toEqual([
      'FROM ${BASE} AS base',
      'FROM --platform=${BUILDPLATFORM} ${BUILD} AS build',
      'RUN npm ci --omit=dev --no-audit --no-fund',
      'RUN node scripts/build.ts',
      'RUN node scripts/build/choose.ts /base /image',
      'FROM scratch',
    ]);
  });
});
