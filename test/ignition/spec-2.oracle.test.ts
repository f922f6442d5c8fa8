import fc from '../support/properties.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseConfig, parseMachineConfig, renderConfig } from '../../src/ignition/parse.ts';
import type { Config } from '../../src/ignition/types.ts';
import { AgentError } from '../../src/model/failure.ts';
import { type ConvertOracle, startConvertOracle } from './oracles.ts';

const sometimes = <T>(good: readonly T[], bad: readonly T[] = []): fc.Arbitrary<T> =>
  bad.length === 0
    ? fc.constantFrom(...good)
    : fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...good) }, fc.constantFrom(...bad));

const record = (members: Record<string, fc.Arbitrary<unknown>>, ...required: string[]) =>
  fc.record(members, { requiredKeys: required }) as fc.Arbitrary<Record<string, unknown>>;
const list = (entry: fc.Arbitrary<unknown>, key = '') =>
  fc.uniqueArray(entry, {
    maxLength: 3,
    selector: (one) => (key === '' ? JSON.stringify(one) : (one as Record<string, unknown>)[key]),
  });

const flag = fc.boolean();
const number = sometimes([0, 1, 420], [-1, 99_999]);
const text = sometimes(['', 'x']);
const sources = sometimes(
  ['', 'data:,a', 'data:;base64,YQ==', 'http://a.test/x', 'https://b.test', 's3://b/k'],
  ['oem:///x', 'ftp://a', 'data:;base64,%', 'x'],
);
const hash = sometimes(
  [`sha512-${'0'.repeat(128)}`],
  ['md5-0', 'sha512-0', `sha256-${'0'.repeat(64)}`],
);
const verification = fc.oneof({ weight: 9, arbitrary: fc.constant({}) }, record({ hash }));
const resource = record({ source: sources, verification });
const contents = record({
  source: sources,
  verification,
  compression: sometimes(['', 'gzip'], ['xz']),
});
const owner = fc.oneof(record({ id: number }), record({ name: text }), fc.constant({}));
const path = sometimes(['/a', '/b', '/ab', '/a/b', '/c/../d', '/e//f/', '/'], ['', 'g']);
const node = { path, user: owner, group: owner };
const placed = (more: Record<string, fc.Arbitrary<unknown>>) =>
  record(
    { ...node, overwrite: flag, ...more, filesystem: sometimes(['root', 'data'], ['']) },
    'path',
    'filesystem',
  );
const unitText = sometimes(
  ['', '[Unit]\nDescription=x\n', '[Install]\nWantedBy=a.target'],
  ['[Unit', 'x'],
);
const dropin = record(
  { name: sometimes(['1.conf', '2.conf'], ['3', '']), contents: unitText },
  'name',
);
const unit = record(
  {
    name: sometimes(['a.service', 'b.socket', 'c@.mount'], ['d', '', 'e.snapshot']),
    ...{
      contents: unitText,
      enable: flag,
      enabled: flag,
      mask: flag,
      dropins: list(dropin, 'name'),
    },
  },
  'name',
);
const account = {
  ...{ gecos: text, homeDir: text, noCreateHome: flag, primaryGroup: text, groups: list(text) },
  ...{ noUserGroup: flag, noLogInit: flag, shell: text, system: flag, uid: number },
};
const keys = list(fc.constantFrom('ssh-rsa a', 'ssh-rsa b'));
const user = fc.oneof(
  record(
    { name: fc.constant('core'), passwordHash: text, sshAuthorizedKeys: keys, ...account },
    'name',
  ),
  record(
    { name: fc.constant('core'), passwordHash: text, create: record(account), uid: number },
    'name',
  ),
);
const group = record(
  { name: sometimes(['g', 'h']), gid: number, passwordHash: text, system: flag },
  'name',
);
const device = sometimes(['/dev/sda', '/dev/sdb'], ['', 'sdc']);
const mount = record(
  {
    ...{
      device,
      format: sometimes(['ext4', 'xfs', 'btrfs'], ['ext3', '']),
      create: record({ force: flag }),
    },
    ...{
      label: sometimes(['x', ''], ['a-label-that-is-long']),
      uuid: text,
      wipeFilesystem: flag,
      options: list(text),
    },
  },
  'device',
  'format',
);
const storage = record({
  files: list(placed({ mode: number, contents, append: flag }), 'path'),
  directories: list(placed({ mode: number }), 'path'),
  links: list(placed({ hard: flag, target: sometimes(['/t', 't', '']) }), 'path'),
  disks: list(
    record({ device, wipeTable: flag, partitions: sometimes([[]], [[{ number: 1 }]]) }, 'device'),
    'device',
  ),
  raid: list(
    record(
      {
        ...{
          name: sometimes(['r', 's'], ['']),
          level: sometimes(['raid1', '5', 'linear'], ['raid9']),
        },
        ...{ devices: list(device), spares: sometimes([0, 1]), options: list(text) },
      },
      'name',
      'level',
      'devices',
    ),
    'name',
  ),
  filesystems: list(
    fc.oneof(
      record({ name: sometimes(['root'], ['data']), mount }, 'name', 'mount'),
      record(
        { name: fc.constant('root'), path: sometimes(['/sysroot'], ['x']), mount },
        'name',
        'path',
      ),
    ),
  ),
});
const ignition = record({
  config: record({ append: list(resource), replace: resource }),
  security: record({ tls: record({ certificateAuthorities: list(resource) }) }),
  timeouts: record({ httpTotal: number, httpResponseHeaders: number }),
});
const networkd = sometimes<object>([{}, { units: [] }], [{ units: [{ name: 'a.network' }] }]);

/** One or two sections at a time: with all of them nearly every config would break a rule somewhere. */
const configs = fc
  .tuple(
    sometimes(['2.2.0', '2.2.0', '2.2.0', '2.1.0', '2.0.0'], ['2.3.0', '2.0.0-dev', '1.0.0']),
    ignition,
    fc.oneof(
      record({ storage }),
      record({
        passwd: record({ users: fc.array(user, { maxLength: 1 }), groups: list(group, 'name') }),
      }),
      record({ systemd: record({ units: list(unit, 'name') }), networkd, storage }),
    ),
    fc.boolean(),
  )
  .map(([version, general, rest, isPlain]) => ({
    ...{ ignition: { ...(isPlain ? {} : general), version }, ...rest },
  }));

/** The order of files and units is turned around before the conversion that the libraries make. */
const turned = ({
  storage: { files = [], ...places } = {},
  systemd = {},
  ...rest
}: Config): Config => ({
  ...{ ...rest, storage: { ...places, files: files.toReversed() } },
  systemd: { units: systemd.units?.toReversed() ?? [] },
});

const ours = (config: object): unknown => {
  try {
    return JSON.parse(renderConfig(parseMachineConfig(JSON.stringify(config)).config));
  } catch (error) {
    if (error instanceof AgentError) return 'refused';
    throw error;
  }
};

describe('converting spec 2 as the operator does', () => {
  let oracle: ConvertOracle;
  beforeAll(() => {
    oracle = startConvertOracle();
    return () => oracle.stop();
  });
  const theirs = async (config: object): Promise<unknown> => {
    const { converted, error } = await oracle.ask(config);
    if (error !== undefined) return 'refused';
    return JSON.parse(renderConfig(turned(parseConfig(JSON.stringify(converted)).config)));
  };

  it('gives the same config, and refuses nothing that is not refused', async () => {
    let accepted = 0;
    const property = fc.asyncProperty(configs, async (config) => {
      const own = ours(config);
      const answer = await theirs(config);
      // What only Ignition's rules refuse is passed on.
      if (answer !== 'refused') expect(own).toEqual(answer);
      accepted += own === 'refused' ? 0 : 1;
    });
    await fc.assert(property, { numRuns: 4000 });
    // Most of what is compared has to be more than a refusal.
    expect(accepted).toBeGreaterThan(1000);
  });
});
