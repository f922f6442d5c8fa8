import fc from '../support/properties.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildName } from '../../src/layering/api/build-name.ts';
import { readMachineOSConfig } from '../../src/layering/api/os-config.ts';
import { readObjects } from '../../src/layering/api/source-object.ts';
import { AgentError } from '../../src/model/failure.ts';
import { type NameOracle, startNameOracle } from './name-oracle.ts';
import { images, pool } from './samples.ts';

const head = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineOSConfig
metadata:
  name: master
spec:
  machineConfigPool: {name: master}
  imageBuilder: {imageBuilderType: Job}
  renderedImagePushSecret: {name: push}
  renderedImagePushSpec: registry.rig.test/ocl/master:latest
  containerFile:
`;

/** A file with the given block scalar as Containerfile; its lines are deeper than its key. */
const fileOf = (content: string): string =>
  `${head}    - content: ${content}\n      containerfileArch: NoArch\n`;

const indented = (text: string, blanks = 8): string =>
  text.replaceAll(/^(?=.)/gm, ' '.repeat(blanks));

const text = 'FROM configs AS final\nRUN a && \\\n\tb  \n\n  # c: d\nRUN e';

const headers = ['|', '|-', '|+', '>', '>-', '>+', '|2', '>2-', '>1+', '| # why'];

/** Line breaks of YAML 1.1. */
const breaks = ['\n', '\r\n', '\r', '\u0085'];

type Case = readonly [how: string, content: string];

const blocks: readonly Case[] = [
  // The property below leaves out an explicit indent with blank lines at the end.
  ...headers
    .filter((header) => /\d/.test(header))
    .map((header): Case => [header, `${header}\n${indented(text)}\n\n\n`]),
  ['a deep block', `|\n${indented(text, 14)}`],
  ['a block that begins with a blank', `|2\n${indented(` ${text}`)}`],
  ['an anchor', `&text |\n${indented(text)}`],
  ['a tag', `!!str |\n${indented(text)}`],
];

const words: readonly Case[] = [
  ['a plain text', 'FROM configs AS final'],
  ['a plain text on lines', `FROM configs\n${indented('AS final\n\nRUN a')}`],
  ['single quotes', `'FROM configs\n${indented("AS final\n\nRUN it''s")}'`],
  ['double quotes', `"FROM configs\n${indented('AS final\\n\\\nRUN a \\\n  b\n\n c')}"`],
  ['a time', '2001-01-01'],
];

const escapes: readonly Case[] = [
  ...['\\r', '\\x85', '\\u0085', '\\N', '\\_', '\\L', '\\P', '\\u2028', '\\u2029', '\\e', '\\0'],
  ...['\\a', '\\b', '\\v', '\\f', '\\t', '\\U0001F600', '\\ufeff', '\\ ', '\\"', '\\\\'],
].map((escape) => [escape, `"RUN a${escape}b\\n"`]);

const raw: readonly Case[] = ['\u00a0', '\ufeff', '\u{1f600}', '\u00e4', '\u200b'].flatMap(
  (character): Case[] => [
    [`${JSON.stringify(character)} in a block`, `|\n${indented(`RUN a${character}b\nRUN c`)}`],
    [`${JSON.stringify(character)} in double quotes`, `"RUN a${character}b"`],
    [`${JSON.stringify(character)} in a plain text`, `RUN a${character}b`],
  ],
);

/** Characters that the operator cannot hash, or that no API server accepts. */
const refused: readonly Case[] = [
  ...['\\x7f', '\\x80', '\\ufffe', '\\q'].map((escape): Case => [
    `the escape ${escape}`,
    `"RUN a${escape}b\\n"`,
  ]),
  ['a number', '12'],
  ['a word that is true', 'yes'],
  ['a list', '[FROM]'],
];

const poolObject = {
  kind: 'MachineConfigPool',
  metadata: { name: 'master' },
  spec: { configuration: pool().configuration },
};

const isLost = (header: string, last = ''): boolean => /\d/.test(header) && last.trim() === '';

/** Our name for the build, or the error. */
function ours(file: string): string | AgentError {
  try {
    const [source] = readObjects({ path: 'os.yaml', text: file });
    if (source === undefined) throw new Error('the file is empty');
    return buildName({ config: readMachineOSConfig(source), pool: pool(), images });
  } catch (error) {
    if (error instanceof AgentError) return error;
    throw error;
  }
}

describe('the name of a build from a file', () => {
  let oracle: NameOracle;
  beforeAll(() => {
    oracle = startNameOracle();
    return () => oracle.stop();
  });
  const theirs = (configFile: string) =>
    oracle.ask({ config: {}, configFile, pool: poolObject, images });

  const cases = [...blocks, ...words, ...escapes, ...raw].flatMap(([how, content]) =>
    breaks.map((end) => ({ how, end, file: fileOf(content).replaceAll('\n', end) })),
  );

  it.each(cases)("agrees with Go's YAML for $how with $end", async ({ file }) => {
    const { name, error } = await theirs(file);
    expect(error).toBeUndefined();
    expect(ours(file)).toBe(name);
  });

  it.each(refused)('is refused by Go and by ours for %s', async (_, content) => {
    expect((await theirs(fileOf(content))).error).toBeDefined();
    expect(ours(fileOf(content))).toBeInstanceOf(AgentError);
  });

  it('agrees with Go for any block scalar', async () => {
    const line = fc.constantFrom(
      ...['FROM configs AS final', 'RUN a && \\', '\tb', '  # c: d', '', ' ', 'RUN e  ', "'", '"'],
      ...['---', '...', '- x', 'a: b', '#', '\u00e4', '\ufeff', '\u00a0', '    deep', '%x', '\t'],
    );
    const block = fc
      .record({
        header: fc.constantFrom(...headers),
        lines: fc.array(line, { minLength: 1, maxLength: 8 }),
        blanks: fc.integer({ min: 7, max: 10 }),
        end: fc.constantFrom(...breaks),
      })
      // Our parser refuses blanks before a block, and drops blanks deeper than an explicit indent.
      .filter(({ header, lines }) => lines[0]?.trim() !== '' && !isLost(header, lines.at(-1)));
    let named = 0;
    const property = fc.asyncProperty(block, async ({ header, lines, blanks, end }) => {
      const content = `${header}\n${indented(lines.join('\n'), blanks)}`;
      const file = fileOf(content).replaceAll('\n', end);
      const { name } = await theirs(file);
      // A file that kubectl cannot read has no name in a cluster.
      if (name === undefined) return;
      named += 1;
      expect(ours(file)).toBe(name);
    });
    await fc.assert(property, { numRuns: 2000 });
    expect(named).toBeGreaterThan(1000);
  });
});
