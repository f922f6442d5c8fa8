// Each block of a guide is used by a suite, or stands here with what keeps it from that.
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readOptions } from '../../mocks/lab/options.ts';
import { readScenario } from '../../mocks/lab/scenario.ts';
import { allSuites } from '../../scripts/suites/all.ts';
import { bootstrapConfigs, capiMachines, clusters, controlPlanes } from '../../src/capi/api.ts';
import { checkConfig } from '../../src/config/load.ts';
import { fileLayer } from '../../src/config/yaml-file.ts';
import { commandForLostDisk } from '../image/own-machine.ts';
import { guidesFolder } from './follow-guide.ts';
import { blocksOf, isShown } from './guide.ts';

const top = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(top, path), 'utf8');
const pages = [...globSync('docs/guides/*.md', { cwd: top }), 'docs/image.md', 'README.md'];
const blocks = pages.flatMap((page) => blocksOf(read(page)).map((block) => ({ ...block, page })));
const shown = blocks.filter(({ kind }) => kind === 'shown');

/** Why a block is only shown, by its page and what it begins with. */
const reasons: readonly (readonly [page: string, begin: string, reason: string])[] = [
  [
    'README.md',
    'scripts/lab --page',
    'run by the suites lab, capi and guides, but --vm: four minutes of what the suite guest does',
  ],
  ['README.md', '  check        find and lock', 'a drawing'],
  [
    'docs/guides/air-gapped.md',
    'scripts/lab --scenario airgap',
    'run by the suite lab, as every scenario; options are read below',
  ],
  [
    'docs/guides/behind-assisted-service.md',
    'data:',
    'a part of deploy/assisted-service/images.yaml, which the suite image runs; compared below',
  ],
  [
    'docs/guides/behind-assisted-service.md',
    'podman run',
    'the line of the service, which the suite image runs; compared below',
  ],
  [
    'docs/guides/cluster-api-on-one-machine.md',
    'apt-get install',
    'installs packages on the machine of the test; scripts/prepare.sh names the same ones',
  ],
  [
    'docs/guides/cluster-api-on-one-machine.md',
    'kubectl',
    'no part of the tests; its kinds are looked up below',
  ],
  ['docs/guides/first-installation.md', 'disk:', 'a part of a file of settings; read below'],
  [
    'docs/guides/one-medium.md',
    '#!ipxe',
    'a script of iPXE, with addresses of a site; its kernel arguments are compared below',
  ],
  [
    'docs/image.md',
    '$ npm run image',
    'minutes for each, and bases that no test has; options are read below',
  ],
  [
    'docs/image.md',
    'podman run',
    'the line of the service, which the suite image runs; compared below',
  ],
  ['docs/image.md', '$ osv-scanner', 'its database comes from the Internet'],
];

/** The block of a page that begins so. */
function blockAt(page: string, begin: string): string {
  const found = blocks.filter(
    (block) => block.page === page && block.text.trimStart().startsWith(begin.trimStart()),
  );
  expect(found, `${page}: ${begin}`).toHaveLength(1);
  return found[0]?.text ?? '';
}

/** The suites that follow a page; those whose marks name them are called with that name. */
function followersOf(page: string): readonly string[] {
  const call = `'${relative(guidesFolder, join(top, page))}'`;
  return allSuites.flatMap(({ name, tests }) => {
    const texts = globSync([...(tests?.include ?? [])], { cwd: top }).map(read);
    return texts.some((text) => text.includes('followGuide(') && text.includes(call)) ? [name] : [];
  });
}

describe('a block of a guide', () => {
  it('is used by a suite, or has a reason why it is not', () => {
    const without = shown.filter(
      ({ page, text }) =>
        !reasons.some(
          ([at, begin]) => at === page && text.trimStart().startsWith(begin.trimStart()),
        ),
    );
    expect(without.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  });

  it('is there for each reason', () => {
    expect(
      reasons.map(([page, begin]) => blockAt(page, begin)).filter((text) => text === ''),
    ).toEqual([]);
    expect(reasons).toHaveLength(shown.length);
  });

  it.each(pages)('of %s that is marked is run by a suite', (page) => {
    const marked = blocks.filter((block) => block.page === page && block.kind !== 'shown');
    const followers = followersOf(page);
    const named = new Set(marked.map(({ suite }) => suite).filter((suite) => suite !== ''));
    expect([...named].filter((suite) => !followers.includes(suite))).toEqual([]);
    const hasOwn = marked.some(({ kind, suite }) => kind === 'run' && suite === '');
    if (hasOwn) expect(followers.filter((suite) => !named.has(suite))).not.toEqual([]);
  });
});

describe('what is only shown', () => {
  const lines = pages.flatMap((page) =>
    [...read(page).matchAll(/^scripts\/lab (.*?)(?: +#.*)?$/gm)].map(([, words = '']) => words),
  );

  it.each(lines)('scripts/lab %s has options and a scenario that the lab has', async (words) => {
    const { scenario } = readOptions(words.split(/ +(?:>.*)?/).filter(Boolean));
    await expect(readScenario(scenario)).resolves.toBeDefined();
  });

  it('has the options of the script that makes the image', () => {
    const text = blockAt('docs/image.md', '$ npm run image');
    const calls = [...text.matchAll(/^\$ npm run image(?: --(.*?))? +#.*$/gm)];
    expect(calls).toHaveLength(text.trimEnd().split('\n').length);
    for (const [, words = ''] of calls) {
      const argv = [join(top, 'scripts/image.ts'), ...words.split(' ').filter(Boolean), '--help'];
      expect(execFileSync(process.execPath, argv).toString()).toMatch(/^usage: /);
    }
  });

  it.each([
    ['docs/image.md', 'IMAGE'],
    ['docs/guides/behind-assisted-service.md', 'registry.example.com/bootwright:1'],
  ])('is in %s the line of the service', async (page, image) => {
    await using service = await commandForLostDisk(image);
    const line = [...service.line.matchAll(/'([^']*)'/g)].map(([, word]) => word).join(' ');
    const words = blockAt(page, 'podman run').trim().replaceAll(/\s+/g, ' ');
    expect(isShown(words, line.replace('http:', 'https:')), `${words}\n${line}`).toBe(true);
  });

  it('has the variables of the ConfigMap that the image is tried with', () => {
    const keys = (yaml: string): readonly string[] =>
      Object.keys((parse(yaml) as { readonly data: object }).data);
    const own = blockAt('docs/guides/behind-assisted-service.md', 'data:');
    expect(keys(own)).toEqual(keys(read('deploy/assisted-service/images.yaml')));
  });

  it('has settings that the schema takes', () => {
    const text = blockAt('docs/guides/first-installation.md', 'disk:');
    const { config } = checkConfig([fileLayer({ path: 'host.yaml', text })]);
    expect(config.disk.hints).toMatchObject({ vendor: 'DELL', minSizeGigabytes: 400 });
  });

  it('has the kernel arguments that the command prints', () => {
    const [, printed = ''] =
      /^it needs the kernel arguments (.*)$/m.exec(read('docs/guides/one-medium.md')) ?? [];
    const [kernel = ''] = /^kernel .*$/m.exec(blockAt('docs/guides/one-medium.md', '#!ipxe')) ?? [];
    expect(printed).not.toBe('');
    expect(printed.split(' ').filter((word) => !kernel.split(' ').includes(word))).toEqual([]);
  });

  it('has the packages that the scripts ask for', () => {
    const line = blockAt('docs/guides/cluster-api-on-one-machine.md', 'apt-get install');
    expect(read('scripts/prepare.sh')).toContain(line.trim());
  });

  it('has kinds that a management cluster serves', () => {
    const [, named = ''] =
      / get (\S+)$/m.exec(blockAt('docs/guides/cluster-api-on-one-machine.md', 'kubectl')) ?? [];
    const kinds = [clusters, controlPlanes, capiMachines, bootstrapConfigs].map(
      ({ plural }) => plural,
    );
    expect(named.split(',').map((name) => name.replace(/s?$/, 's'))).toEqual(kinds);
  });
});
