import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import outputSchema from '../../docs/output.schema.json' with { type: 'json' };
import { layerUser } from '../../test/layering/layer-command.ts';
import type { LayeredPool } from '../../test/layering/layered-pool.ts';
import { rollOutCluster } from '../../test/layering/roll-out.ts';
import { images, osConfigObject, pool } from '../../test/layering/samples.ts';
import { originFile, ostreeStagedOutput, sum } from '../../test/support/os-samples.ts';
import { poolProgress } from '../layering/roll-out/progress.ts';
import { plainOstree } from '../os/plain-ostree.ts';
import { bootwright } from './program/commands.ts';
import { documents } from './documents.ts';
import { renderJournalJson } from './journal.ts';
import { renderPoolsJson } from './layer/status.ts';
import { renderStatusJson } from './node.ts';

const { at, file, files, layer, out } = layerUser();

/** Every object is closed here, so that a field without a place in the schema is found. */
const closed = (schema: unknown): unknown =>
  Array.isArray(schema)
    ? schema.map(closed)
    : typeof schema !== 'object' || schema === null
      ? schema
      : {
          ...Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)])),
          ...('properties' in schema ? { additionalProperties: false } : {}),
        };

const ajv = new Ajv2020();
const validatorOf = (command: keyof typeof documents) => {
  const { $defs } = outputSchema as { readonly $defs: Readonly<Record<string, unknown>> };
  return ajv.compile(closed($defs[command.replaceAll(' ', '-')]) as object);
};

const expectForm = (command: keyof typeof documents, text: string): void => {
  const validate = validatorOf(command);
  expect(validate(JSON.parse(text)), JSON.stringify(validate.errors)).toBe(true);
};

describe('the published schema', () => {
  it('has every command that prints JSON, but those with a schema of their own', () => {
    const own = ['plan', 'doctor', 'status', 'node apply', 'node rollback'];
    const printing = bootwright().all.flatMap(({ path, options }) =>
      options.some(({ argChoices }) => argChoices?.includes('json')) ? [path.join(' ')] : [],
    );
    expect(printing.filter((name) => !own.includes(name)).toSorted()).toEqual(
      Object.keys(documents).toSorted(),
    );
  });

  it.each([
    ['config show', ['config', 'show', '-r', 'worker']],
    ['config validate', ['config', 'validate', '-r', 'worker', '--cluster-id', 'c']],
    ['version', ['version']],
    ['ignition lint', ['ignition', 'lint', '/nowhere.yaml']],
  ] as const)('is kept by %s', async (command, [name, ...words]) => {
    await bootwright().run([name, ...words, '--format', 'json']);
    expectForm(command, out());
  });

  it.each([
    ['layer lint', ['lint', '--format', 'json']],
    ['layer render', ['render', '--format', 'json', '--out']],
  ] as const)('is kept by %s', async (command, words) => {
    const isLint = command === 'layer lint';
    const rest = isLint
      ? [file('bad.yaml', { ...osConfigObject(), spec: {} }), at('none')]
      : [at('context'), ...files()];
    expect(await layer(...words, ...rest)).toBe(isLint ? 2 : 0);
    expectForm(command, out());
  });

  it('is kept by layer name', async () => {
    const poolFile = file('pool.json', {
      kind: 'MachineConfigPool',
      metadata: { name: 'master' },
      spec: { configuration: pool().configuration },
    });
    const imagesFile = file('images.yaml', images);
    const osConfig = file('os.yaml', osConfigObject());
    const words = ['--os-config', osConfig, '--pool', poolFile, '--images', imagesFile];
    expect(await layer('name', '--format', 'json', ...words)).toBe(0);
    expectForm('layer name', out());
  });

  it.each<[string, LayeredPool]>([
    ['at rest', {}],
    ['in trouble', { node: { currentImage: 'x', desiredImage: 'x' } }],
  ])('is kept by layer status of a pool %s', (_, change) => {
    expectForm('layer status', renderPoolsJson([poolProgress('master', rollOutCluster(change))]));
  });

  it('is kept by node status', () => {
    const details = ['2', '1', '0'].flatMap((one) => [originFile(one), `'sha256:${sum(one)}'`]);
    const status = plainOstree.readStatus(ostreeStagedOutput, details);
    const snapshot = { driver: 'ostree', reason: 'r', status, commandLine: 'rw quiet' } as const;
    expectForm('node status', renderStatusJson(snapshot));
  });

  it('is kept by journal', () => {
    const text = renderJournalJson({
      header: { type: 'header', v: 1, role: 'w', version: '0', fingerprint: 'f', bootId: 'b' },
      entries: [
        { type: 'started', step: 'disk/clean', at: 0 },
        { type: 'failed', step: 'disk/clean', at: 9, code: 'disk.busy', message: 'm' },
      ],
    });
    expectForm('journal', text);
  });
});

/** What SARIF 2.1.0 asks of a log that reports results (OASIS, sections 3.13 to 3.30). */
const sarifShape = {
  type: 'object',
  required: ['version', 'runs'],
  properties: {
    $schema: { type: 'string' },
    version: { const: '2.1.0' },
    runs: {
      type: 'array',
      items: {
        type: 'object',
        required: ['tool', 'results'],
        properties: {
          tool: {
            type: 'object',
            required: ['driver'],
            properties: {
              driver: {
                type: 'object',
                required: ['name'],
                properties: {
                  name: { type: 'string' },
                  version: { type: 'string' },
                  rules: {
                    type: 'array',
                    uniqueItems: true,
                    items: { type: 'object', required: ['id'] },
                  },
                },
                additionalProperties: false,
              },
            },
            additionalProperties: false,
          },
          columnKind: { enum: ['utf16CodeUnits', 'unicodeCodePoints'] },
          results: {
            type: 'array',
            items: {
              type: 'object',
              required: ['message', 'level', 'ruleId', 'ruleIndex', 'locations'],
              properties: {
                ruleId: { type: 'string' },
                ruleIndex: { type: 'integer', minimum: 0 },
                level: { enum: ['none', 'note', 'warning', 'error'] },
                message: { type: 'object', required: ['text'] },
                locations: {
                  type: 'array',
                  items: {
                    type: 'object',
                    required: ['physicalLocation'],
                    properties: {
                      physicalLocation: {
                        type: 'object',
                        required: ['artifactLocation'],
                        properties: {
                          artifactLocation: {
                            type: 'object',
                            properties: { uri: { type: 'string', pattern: '^[^ ]+$' } },
                          },
                          region: {
                            type: 'object',
                            properties: { startLine: { type: 'integer', minimum: 1 } },
                          },
                        },
                      },
                    },
                  },
                },
              },
              additionalProperties: false,
            },
          },
        },
        additionalProperties: false,
      },
    },
  },
  additionalProperties: false,
};

describe('layer lint as SARIF', () => {
  it('names rules, files and lines', async () => {
    const containerfile = file(
      'my Containerfile',
      'FROM configs AS final\nADD https://x/y /\nEXPOSE 1\nBOGUS\n',
    );
    const paths = [containerfile, file('mosc.yaml', { ...osConfigObject(), spec: {} }), at('none')];
    expect(await layer('lint', '--format', 'sarif', ...paths)).toBe(2);
    const validate = ajv.compile(sarifShape);
    const sarif = JSON.parse(out()) as {
      runs: readonly [
        {
          tool: { driver: { rules: readonly { id: string }[] } };
          results: readonly {
            ruleId: string;
            ruleIndex: number;
            locations: readonly [{ physicalLocation: { artifactLocation: { uri: string } } }];
          }[];
        },
      ];
    };
    expect(validate(sarif), JSON.stringify(validate.errors)).toBe(true);
    const [{ tool, results }] = sarif.runs;
    for (const { ruleId, ruleIndex } of results) {
      expect(tool.driver.rules[ruleIndex]?.id).toBe(ruleId);
    }
    const uris = results.map(({ locations: [one] }) => one.physicalLocation.artifactLocation.uri);
    expect(new Set(uris)).toEqual(
      new Set([
        `file://${at('my%20Containerfile')}`,
        `file://${at('mosc.yaml')}`,
        `file://${at('none')}`,
      ]),
    );
    expect(new Set(results.map(({ ruleId }) => ruleId)).size).toBeGreaterThan(1);
  });

  it('is a whole log without a finding', async () => {
    expect(await layer('lint', '--format', 'sarif', file('mosc.yaml', osConfigObject()))).toBe(0);
    expect(JSON.parse(out())).toMatchObject({ version: '2.1.0', runs: [{ results: [] }] });
  });
});
