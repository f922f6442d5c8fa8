import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { growthViolation, type TextOfSize } from './growth.ts';
import { SecretUrl } from '../../src/lib/secret-url.ts';
import { bodyShapes } from './body-shapes.ts';
import { type TextFunction, textFunctions } from './text-functions.ts';

/** What texts are pumped with, each by itself and with something at the end that makes it wrong. */
const units: readonly string[] = [
  ...['a', ' ', '\n', '\t', '\r', '-', '.', '/', '=', '"', "'", '\\', '{', '[', '(', ',', ':', '@'],
  ...['%', '~', '0', '9.', 'é', '\u0085', 'a/', '../', 'a b ', 'a=b ', 'a: b\n', '- ', '? ', '&a '],
  ...[
    '*a ',
    '# ',
    '#\n',
    '$A',
    '${A}',
    '%zz',
    '{"a":',
    '[1,',
    'https://',
    '//u:p@',
    'sha256:',
    '<a>',
  ],
  ...['-----BEGIN CERTIFICATE-----\n', '\u001b[', '|\n', "''", 'a,'],
];

const textOf =
  (unit: string, end: string): TextOfSize =>
  (size) =>
    `${unit.repeat(Math.ceil(size / unit.length))}${end}`;

/** What is handed to a function beside its text, by the type that its source names. */
const further: Readonly<Record<string, unknown>> = {
  string: 'x',
  number: 10,
  'string | undefined': 'x',
  'readonly string[]': ['192.0.2.0/24', 'x'],
  'readonly (string | undefined)[]': ['x'],
  "'server' | 'file'": 'server',
  SpecMinor: 5,
  Variables: () => undefined,
  'Iterable<string>': ['role', 'disk.device'],
};

/**
 * What makes something of a text and of parts that no text can stand for. None of them reads the
 * text.
 */
const makers = new Set([
  'adapters/kube/api-error.ts#errorOfEvent',
  'adapters/kube/api-error.ts#errorOfSilence',
  'adapters/kube/api-server.ts#withQuery',
  'cluster/etcd.ts#needsOverride',
  'controllers/pools/stores.ts#storedView',
  'engine/role.ts#role',
  'engine/condition.ts#condition',
  'engine/fact.ts#fact',
  'ignition/resource.ts#embeddedFile',
  'layering/api/os-build.ts#seededBuildStatus',
  'layering/build/build-plan.ts#registriesWithBase',
  'layering/build/verify-image.ts#requireStream',
  'layering/hand-over/pool-status.ts#nodesAtRisk',
  'layering/hand-over/pool-status.ts#nodesOfPool',
  'ignition/validate.ts#keyOf',
  'ignition/validate.ts#memberPath',
  'layering/hand-over/pool-status.ts#nodesWithout',
  'layering/hand-over/pool-status.ts#poolSnapshot',
  'layering/hand-over/pool-status.ts#poolStatus',
  'layering/hand-over/pool-status.ts#stagingReferences',
  'layering/manifests/service-account.ts#accountManifests',
  'layering/manifests/service-account.ts#rule',
  'layering/registry/credentials.ts#pullSecretOf',
  'layering/registry/staging-registry.ts#answerArgv',
  'layering/registry/staging-registry.ts#runRegistryArgv',
  'layering/roll-out/blocked-drain.ts#drainBlockers',
  'layering/roll-out/progress.ts#poolProgress',
  'os/status.ts#renderOrigin',
  'steps/disk/erase.ts#nvmeErasuresOf',
  'steps/disk/target.ts#nameDifference',
  'steps/heartbeat.ts#withHeartbeat',
  'steps/host-commands.ts#bytesArgv',
]);

/** Readers whose further arguments are not told by their types. */
const given: Readonly<Record<string, (text: string) => readonly unknown[]>> = {
  'adapters/http/exchange.ts#pathSegment': (text) => [
    text,
    (problem: string) => new Error(problem),
  ],
  'adapters/kube/list.ts#parsed': (text) => [text, () => true],
  'ignition/merge.ts#mergeSingleNode': (text) => [text, '{"ignition":{"version":"3.2.0"}}'],
  'layering/api/source-object.ts#decodeSource': (text) => ['x', Buffer.from(text)],
  'layering/manifests/served-machine-config.ts#servedMachineConfig': (text) => [
    text,
    'x',
    'h/i@sha256:0',
  ],
  'layering/registry/credentials.ts#narrowedTo': (text) => ['h/r', { from: 'x', text }],
  'controllers/installation/must-gather.ts#gatheringImages': (text) => [
    text,
    { isInError: true, failedOperators: ['odf'] },
  ],
  'steps/ignition/fetch-host.ts#refuseOtherHash': (hash) => ['x', { origin: 'x', hash }],
  'steps/image/image-file.ts#refuseUnfit': (text) => [
    Buffer.from(text),
    'x',
    { sectorBytes: 512, sizeBytes: 1e12 },
  ],
  'steps/image/release.ts#refuseOtherRelease': (text) => [
    'x',
    text,
    { architecture: 'x86_64', line: '4.16' },
  ],
  'steps/image/stream.ts#parseStream': (text) => [text, new SecretUrl('https://x/')],
  'steps/image/deploy-final.ts#refuseOrigins': (text) => [
    text,
    { image: 'h/i@sha256:0', source: 'x' },
  ],
};

async function callOf({
  id,
  further: types,
  takesBytes,
}: TextFunction): Promise<(text: string) => void> {
  const [path = '', name = ''] = id.split('#');
  const module = (await import(
    /* @vite-ignore */ join(import.meta.dirname, '../../src', path)
  )) as Record<string, (...args: unknown[]) => unknown>;
  const called = module[name];
  if (called === undefined) throw new TypeError(`${id} is not exported`);
  return (text) => {
    const args = given[id]?.(text) ?? [
      takesBytes ? Buffer.from(text) : text,
      ...types.map((type) => further[type]),
    ];
    const result = called(...args);
    if (result instanceof Promise) result.catch(() => undefined);
  };
}

const parsers = textFunctions().filter(({ id }) => !makers.has(id));

describe('a text of a stranger', () => {
  it('is read by functions whose other arguments are known here', () => {
    const unknown = parsers.filter(
      ({ id, further: types }) =>
        given[id] === undefined && types.some((type) => !(type in further)),
    );
    expect(unknown.map(({ id, further: types }) => [id, types])).toEqual([]);
    const ids = new Set(textFunctions().map(({ id }) => id));
    expect([...makers, ...Object.keys(given)].filter((id) => !ids.has(id))).toEqual([]);
  });

  it.each(parsers)('takes $id a time that grows as it does', async (parser) => {
    const call = await callOf(parser);
    const violations = units.flatMap((unit) =>
      ['', '!'].flatMap((end) => {
        const violation = growthViolation(call, textOf(unit, end));
        return violation === undefined ? [] : [`${JSON.stringify(unit + end)}: ${violation}`];
      }),
    );
    expect(violations).toEqual([]);
  });

  it.each(bodyShapes)('takes a time that grows as it does: $about', ({ read, textOf: body }) => {
    expect(growthViolation(read, body)).toBeUndefined();
  });
});

describe('growthViolation', () => {
  it.each([
    ['linear', ({ length }: string) => length / 100, undefined],
    [
      'quadratic',
      ({ length }: string) => (length / 1000) ** 2,
      '10000: 100 ms,20000: 400 ms,40000: 1600 ms',
    ],
    ['quick', ({ length }: string) => (length / 5000) ** 2, undefined],
    ['endless', ({ length }: string) => length * 60, '60000 ms for 1000 characters'],
  ])('tells %s work', (_, measured, violation) => {
    const measure = (_work: unknown, text: string): number => measured(text);
    expect(growthViolation(String, textOf('a', ''), measure)).toBe(violation);
  });
});
