// Each block of a guide is used by a suite, or listed here with the reason why it is not.
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allSuites } from '../../scripts/suites/all.ts';
import { checkConfig } from '../../src/config/load.ts';
import { fileLayer } from '../../src/config/yaml-file.ts';
import { guidesFolder, shownOn } from './follow-guide.ts';
import { blocksOf, commandsIn, shownIn } from './guide.ts';

const top = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(top, path), 'utf8');
const pages = [...globSync('docs/guides/*.md', { cwd: top }), 'docs/image.md', 'README.md'];
const blocks = pages.flatMap((page) => blocksOf(read(page)).map((block) => ({ ...block, page })));
const shown = pages.flatMap((page) => shownIn(read(page)).map((one) => ({ ...one, page })));

/** Blocks that no suite runs, with the reasons. */
const reasons: readonly (readonly [page: string, begin: string, reason: string])[] = [
  [
    'README.md',
    'scripts/lab --vm --no-service',
    'four minutes of what the suite guest does, by the same functions',
  ],
  [
    'README.md',
    'podman run --privileged --pid=host -v /dev:/dev:rw -e CLUSTER_ID=production',
    'the line of docs/image.md, which the suite image runs, with values',
  ],
  ['README.md', 'check        find and lock', 'a drawing'],
  [
    'docs/guides/one-medium.md',
    '#!ipxe',
    'a script of iPXE, with addresses of a site; its kernel arguments are compared below',
  ],
  [
    'docs/guides/when-it-hangs.md',
    'curl -H "Authorization: Bearer $API_TOKEN" -o controller_logs.tar.gz',
    'a call of a service that no mock has',
  ],
  [
    'docs/guides/when-it-hangs.md',
    'bootwright logs read controller_logs.tar.gz',
    'the answer of that call; src/cli/logs/read.test.ts reads such an archive',
  ],
  [
    'docs/guides/when-it-hangs.md',
    'curl -X POST -H "Authorization: Bearer $API_TOKEN"',
    'a call of a service that no mock has',
  ],
];

/** The suites that follow a page; those whose marks name them are called with that name. */
function followersOf(page: string): readonly string[] {
  const call = `'${relative(guidesFolder, join(top, page))}'`;
  return allSuites.flatMap(({ name, tests }) => {
    const texts = globSync([...(tests?.include ?? [])], { cwd: top }).map(read);
    return texts.some((text) => text.includes('followGuide(') && text.includes(call)) ? [name] : [];
  });
}

/** Blocks that tests refer to by their first words. */
const used = allSuites
  .filter(({ isByNameOnly }) => isByNameOnly !== true)
  .flatMap(({ tests }) => globSync([...(tests?.include ?? [])], { cwd: top }))
  .flatMap((test) => [...read(test).matchAll(/shownOn\(\s*'([^']+)',\s*'([^']+)'/g)])
  .map(([, page = '', begin = '']) => ({ page, text: shownOn(page, begin) }));

/**
 * Commands that run unchanged, on the same page or another; a reader may redirect the output.
 */
const run = blocks
  .filter(({ kind }) => kind === 'run')
  .flatMap(({ text }) => commandsIn(text).map((command) => command.replace(/ > \S+$/, '')));

describe('a block of a guide', () => {
  it('is used by a suite or has a reason', () => {
    const known = [
      ...used,
      ...reasons.map(([page, begin]) => ({ page, text: shownOn(page, begin) })),
    ];
    const without = shown.filter(
      ({ page, text }) =>
        !run.includes(text) && !known.some((one) => one.page === page && one.text === text),
    );
    expect(without.map(({ page, line, text }) => `${page}:${line} ${text}`)).toEqual([]);
  });

  it('has no reason if a suite uses it', () => {
    const needless = reasons.filter(([page, begin]) => {
      const text = shownOn(page, begin);
      return run.includes(text) || used.some((one) => one.page === page && one.text === text);
    });
    expect(needless).toEqual([]);
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

describe('a block that is only shown', () => {
  it('contains valid settings', () => {
    const text = shownOn('docs/guides/first-installation.md', 'disk:');
    const { config } = checkConfig([fileLayer({ path: 'host.yaml', text })]);
    expect(config.disk.hints).toMatchObject({ vendor: 'DELL', minSizeGigabytes: 400 });
  });

  it('contains the kernel arguments that the command prints', () => {
    const [, printed = ''] =
      /^it needs the kernel arguments (.*)$/m.exec(read('docs/guides/one-medium.md')) ?? [];
    const script = shown.find(({ text }) => text.startsWith('#!ipxe'))?.text ?? '';
    const [kernel = ''] = /^kernel .*$/m.exec(script) ?? [];
    expect(printed).not.toBe('');
    expect(printed.split(' ').filter((word) => !kernel.split(' ').includes(word))).toEqual([]);
  });
});
