import fc from '../../test/support/properties.ts';
import { describe, expect, it } from 'vitest';
import { AgentError } from '../model/failure.ts';
import { variableOf } from './environment.ts';
import { flagRows } from './flag-table.ts';
import { readFlags } from './flags.ts';
import { checkConfig, layersOver } from './load.ts';
import { type Layer, settingKeys } from './settings.ts';

describe('layersOver', () => {
  it('prefers flags over BOOTWRIGHT_ variables, and these over other variables', () => {
    const layers = layersOver([], readFlags(['--disk.device', '/flag']), {
      S3_URL: 'http://s',
      BUCKET: 'b',
      CLUSTER_ID: 'old',
      DEVICE: '/old',
      BOOTWRIGHT_CLUSTER_ID: 'own',
      BOOTWRIGHT_DISK_DEVICE: '/own',
    });
    const { config, origins } = checkConfig(layers);
    expect(config).toMatchObject({
      cluster: { id: 'own' },
      disk: { device: '/flag' },
      s3: { bucket: 'b' },
    });
    expect(origins.get('cluster.id')).toBe('environment BOOTWRIGHT_CLUSTER_ID');
  });

  it.each([
    ['ignores S3_URL when a file sets service.url', 'http://h', 'auto'],
    ['reads S3_URL when no source sets service.url', '', 's3'],
  ])('%s', (_, url, source) => {
    const file: Layer = new Map([['service.url', { value: url, origin: 'file c.yaml:2' }]]);
    const environment = { S3_URL: 'http://s', DEVICE: '/dev/x' };
    const layers = layersOver([file], readFlags([]), environment);
    const { config } = checkConfig(layers);
    expect(config.service.url.reveal()).toBe(url);
    expect(config).toMatchObject({
      ignition: { source },
      disk: { device: source === 's3' ? '/dev/x' : '' },
    });
  });
});

const words = [
  ...['', 'a', '0', '1', '-1', '3', '010', '1e3', '9007199254740993', 'true', 'F', 'None', 'Full'],
  ...['worker', 'master', 'v1', 'auto', 'json', 's3', '[]', '["a"]', '[1]', '["a",', ' [ ] '],
  ...[
    'http://h',
    'http://h:1/p?q#f',
    'HTTPS://H',
    'http://u:p@h',
    'http://[::1]:80',
    'http://h ',
    'h:1',
  ],
  ...[
    'http:/h',
    'https://',
    'http://h:99999',
    'http://é',
    'http://a\tb',
    'file:///x',
    'a'.repeat(64),
  ],
];
const flags = [...Object.keys(flagRows), ...settingKeys];
const word = fc.oneof(fc.constantFrom(...words), fc.webUrl(), fc.string());
const use = fc
  .tuple(fc.constantFrom(...flags), fc.option(word, { nil: undefined }))
  .map(([name, value]) => (value === undefined ? `--${name}` : `--${name}=${value}`));
const variable = fc.tuple(
  fc.constantFrom(
    ...settingKeys.map(variableOf),
    'PULL_SECRET_TOKEN',
    'S3_URL',
    'BUCKET',
    'DRY_ENABLE',
  ),
  word,
);

it('any flags and variables are accepted or refused with the name of a setting', () => {
  fc.assert(
    fc.property(
      fc.array(use, { maxLength: 5 }),
      fc.array(variable, { maxLength: 3 }),
      (argv, env) => {
        const layers = layersOf(argv, Object.fromEntries(env));
        fc.pre(layers !== undefined);
        try {
          checkConfig(layers);
        } catch (error) {
          expect(error).toMatchObject({ code: 'config.invalid-value' });
          expect(settingKeys).toContain((error as AgentError).context['setting']);
        }
      },
    ),
    { numRuns: 1000 },
  );
});

function layersOf(argv: readonly string[], environment: Record<string, string>) {
  try {
    return layersOver([], readFlags(argv), environment);
  } catch (error) {
    if (error instanceof AgentError && error.kind === 'input') return undefined;
    throw error;
  }
}
