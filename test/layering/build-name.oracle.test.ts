import fc from '../support/properties.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildName, hashedTexts } from '../../src/layering/api/build-name.ts';
import { readMachineConfigPool } from '../../src/layering/api/machine-config-pool.ts';
import type { MachineOSConfigSpec } from '../../src/layering/api/os-config.ts';
import { lineless } from '../../src/layering/api/source-object.ts';
import { AgentError } from '../../src/model/failure.ts';
import { type NameOracle, startNameOracle } from './name-oracle.ts';

const alphabet = (letters: string): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...Array.from(letters)), maxLength: 14 });

/** Characters with a meaning in YAML, JSON or Go, and some of each other kind. */
const distinct = fc.constantFrom(
  ...Array.from('\t\n\r\0\u0007\b\v\f\u001b "\'\\#:-?,[]{}&*!|>%@`<=.~/ab'),
  ' ',
  '\n',
  '\u0085',
  '\u00a0',
  '\u00e4',
  '\u2028',
  '\u2029',
  '\u200b',
  '\ud7ff',
  '\ue000',
  '\ufeff',
  '\ufffd',
  '\u{1f600}',
  '---',
  '...',
);

/** Lines of Containerfiles, among them long ones with tabs, quotes and trailing blanks. */
const line = fc.oneof(
  fc.constantFrom(
    'FROM configs AS final',
    'RUN rpm-ostree install tcpdump && \\',
    '\tostree container commit',
    '  # a comment: with a colon',
    "COPY --from=build '/a b' /usr/bin/x ",
    `RUN ${'word '.repeat(30)}`,
    `LABEL a="${'x '.repeat(40)}" b='${"it''s ".repeat(12)}'`,
    `\t${'tab and words '.repeat(12)}`,
    '',
    ' ',
    '---',
    '...',
  ),
  fc.string({ unit: distinct, maxLength: 12 }),
  fc.lorem({ maxCount: 30 }),
);

const words = fc.constantFrom(
  ...['yes', 'No', 'ON', 'y', 'null', '~', '.inf', '-.INF', '.nan', '<<', '=', '0x1F', '0o17'],
  ...[
    '1_000',
    '0b101',
    '0b-1',
    '-0b1',
    '+12',
    '1e999',
    '1e3',
    '.5',
    '._5',
    '.5_0',
    '.0_',
    '5.',
    '0.0.1',
    '08',
  ],
  ...[
    '18446744073709551615',
    '18446744073709551616',
    '-9223372036854775809',
    '0xfffffffffffffffff',
  ],
  ...['2001-01-01', '2001-1-1T1:2:3Z', '2001-13-01', '2001-02-29', '2001-01-01 1:2:3,5'],
  ...['2001-1-1t01:02:03.5+24:60', '2001-1-1T1:2:3+25:00', '190:20:30', '1:2', '-1:60', '12:30.5_'],
);

/** Characters that the operator cannot hash; seldom, so that most texts get a name. */
const refused = fc
  .tuple(
    fc.string({ unit: distinct, maxLength: 5 }),
    fc.constantFrom(
      '\u007f',
      '\u0080',
      '\u009f',
      '\ufffe',
      '\uffff',
      '\u0085---\u0085',
      '\u0085... ',
    ),
  )
  .map((parts) => parts.join(''));

const text = fc.oneof(
  { arbitrary: refused, weight: 1 },
  { arbitrary: fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n')), weight: 15 },
  { arbitrary: fc.string({ unit: distinct, maxLength: 60 }), weight: 12 },
  { arbitrary: fc.string({ unit: 'binary', maxLength: 120 }), weight: 3 },
  { arbitrary: words, weight: 3 },
  { arbitrary: alphabet('0123456789_.+-eExXobB:TtZ naif '), weight: 6 },
);

const pushSpec = fc.constantFrom('registry.rig.test/ocl/master:latest', '192.168.1.1:5000/a:b');
const name = fc.oneof(fc.constantFrom('push', '1', '1e3', 'on', '2001-01-01', 'null'), text);

const specs: fc.Arbitrary<MachineOSConfigSpec> = fc
  .record(
    {
      machineConfigPool: fc.constant({ name: 'master' }),
      imageBuilder: fc.constant({ imageBuilderType: 'Job' as const }),
      baseImagePullSecret: fc.record({ name }),
      renderedImagePushSecret: fc.record({ name }),
      renderedImagePushSpec: pushSpec,
      containerFile: fc.array(
        fc.record({ containerfileArch: fc.constantFrom('NoArch', 'AMD64'), content: text }),
        { maxLength: 3 },
      ),
    },
    {
      requiredKeys: [
        'machineConfigPool',
        'imageBuilder',
        'renderedImagePushSecret',
        'renderedImagePushSpec',
      ],
    },
  )
  .map((spec) => spec);

const reference = fc.record(
  {
    apiVersion: fc.constant('machineconfiguration.openshift.io/v1'),
    fieldPath: fc.constantFrom('', 'spec.x[0]'),
    kind: fc.constantFrom('MachineConfig', ''),
    name: fc.constantFrom('00-master', '99-x', '1e3', `m-${'long-'.repeat(30)}x`),
    namespace: fc.constantFrom('', 'n'),
    resourceVersion: fc.constantFrom('12345', ''),
    uid: fc.uuid(),
  },
  { requiredKeys: ['name'] },
);

const pools = fc
  .tuple(reference, fc.option(fc.array(reference, { maxLength: 4 }), { nil: undefined }))
  .map(([configuration, source]) => ({
    kind: 'MachineConfigPool',
    metadata: { name: 'master' },
    spec: { configuration: { ...configuration, ...(source === undefined ? {} : { source }) } },
  }));

const images = fc.record({
  baseOSContainerImage: fc.oneof(text, fc.constant(`r.e/base@sha256:${'a'.repeat(64)}`)),
  baseOSExtensionsContainerImage: fc.constantFrom('', `r.e/ext@sha256:${'b'.repeat(64)}`),
  osImageURL: fc.constantFrom('', 'x'),
  releaseVersion: fc.constantFrom('4.23.0', '4.2', '5', '1e3', '', '4.21.0-0.nightly-2026'),
});

describe('the name of a build', () => {
  let oracle: NameOracle;
  beforeAll(() => {
    oracle = startNameOracle();
    return () => oracle.stop();
  });

  it("agrees with Go's libraries for any texts", async () => {
    let named = 0;
    const property = fc.asyncProperty(specs, pools, images, async (spec, pool, urls) => {
      const config = { metadata: { name: 'master' }, spec };
      const theirs = await oracle.ask({ config, pool, images: urls });
      const inputs = {
        config: { name: 'master', annotations: {}, spec },
        pool: readMachineConfigPool(lineless(pool, 'pool')),
        images: urls,
      };
      if (theirs.error === undefined) {
        named += 1;
        expect(hashedTexts(inputs)).toEqual(theirs.yaml);
        expect(buildName(inputs)).toBe(theirs.name);
      } else {
        const call = () => buildName(inputs);
        expect(call, theirs.error).toThrow(AgentError);
        expect(call).toThrow(/is one that the Machine Config Operator cannot hash/);
      }
    });
    await fc.assert(property, { numRuns: 4000 });
    expect(named).toBeGreaterThan(2000);
  });
});
