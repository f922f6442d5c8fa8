import { variableOf } from '../../src/config/environment.ts';
import { configJsonSchema } from '../../src/config/show.ts';
import type { Setting } from '../../src/config/setting-table.ts';
import {
  secretFiles,
  type SettingKey,
  settingKeys,
  settingKinds,
} from '../../src/config/settings.ts';
import { checkConfig, settingIn } from '../../src/config/load.ts';
import { flagRows, ownFlagRows } from '../../src/config/flag-table.ts';
import { flagName } from '../../src/config/go-flags.ts';
import { defaultConfigFile } from '../../src/config/sources.ts';
import { codeCell, table } from './markdown.ts';

/** The page about every setting, from the schema and the table of flags. */
export function configurationPage(): string {
  return [
    '# Configuration',
    '',
    'This page is written by `npm run docs` from `src/config` and `src/cli`.',
    '',
    'A setting is named by its section and key, `disk.device`. It can be given in four ways; what',
    'comes later in this list wins:',
    '',
    `1. in \`${defaultConfigFile}\`, if it is there;`,
    '2. in each file of `--config FILE`, in the order of the line;',
    '3. in the environment: the variables of other programs below, then `BOOTWRIGHT_*`;',
    '4. by a flag.',
    '',
    'A list replaces the list before it. An unknown key, variable or flag is refused with exit',
    'code 2 before anything changes. `bootwright config init ROLE` prints a file with every setting',
    'as a comment, `bootwright config show` every setting with the place it comes from,',
    '`bootwright config validate` lists what an install would lack, and',
    '`bootwright config schema` prints a JSON Schema for editors ([configuration.schema.json](configuration.schema.json)). The',
    '`$id` of our schemas is a URN, as no public address serves them.',
    '',
    'A secret is never taken from a flag or a configuration file: give it in the environment, or',
    'name a file that holds it.',
    '',
    '```yaml',
    'role: worker',
    'service:',
    '  url: https://assisted.example.com:8443',
    '  caFile: /etc/pki/ca-trust/source/anchors/service.pem',
    '  tokenFile: /run/secrets/token',
    'disk:',
    '  device: /dev/disk/by-id/wwn-0x5000c500a0b1c2d3',
    '  format: [/dev/disk/by-id/wwn-0x5000c500a0b1c2d4]',
    '```',
    '',
    ...sectionPages(),
    ...flagTables(),
    ...variableTable(),
  ].join('\n');
}

function sectionPages(): readonly string[] {
  const names = [...new Set(settingKeys.map((key) => key.replace(/\..*/, '')))];
  return names.flatMap((name) => [
    `## ${name}`,
    '',
    ...table(
      ['Key', 'Kind', 'Default', 'Meaning', 'Variable', 'Flag'],
      settingKeys.filter((key) => key.replace(/\..*/, '') === name).map(settingRow),
    ),
    '',
  ]);
}

const { config: defaults } = checkConfig([]);

function settingRow(key: SettingKey): readonly string[] {
  const isSecret = settingKinds[key].kind === 'secret';
  return [
    codeCell(key),
    kindCell(settingKinds[key]),
    isSecret ? '' : defaultCell(settingIn(defaults, key)),
    meaningOf(key),
    codeCell(variableOf(key)),
    isSecret ? 'none' : flagsOf(key).map(codeCell).join(', '),
  ];
}

const kindWords = {
  text: 'text',
  url: 'http(s) URL',
  place: 'path or http(s) URL',
  sha256: 'SHA-256',
  listen: 'HOST:PORT',
  count: 'whole number',
  port: 'port',
  flag: 'true or false',
  list: 'list; with commas in a variable, repeated as a flag',
  argv: 'list; a JSON array in a variable or flag',
  hints: 'map; `NAME=VALUE,NAME=VALUE` in a variable or flag',
  mirrors: 'list of sources with mirrors; JSON in a variable or flag',
  secret: 'secret',
} as const;

const kindCell = (kind: Setting): string =>
  kind.kind === 'word' ? kind.words.map(codeCell).join(', ') : kindWords[kind.kind];

const defaultCell = (value: unknown): string =>
  String(value) === '' && !Array.isArray(value)
    ? ''
    : codeCell(typeof value === 'string' ? value : JSON.stringify(value));

interface Described {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Described>>;
}

function meaningOf(key: SettingKey): string {
  const file = (secretFiles as Partial<Record<SettingKey, SettingKey>>)[key];
  if (file !== undefined) return `the secret itself; \`${file}\` names a file instead`;
  let at: Described | undefined = configJsonSchema();
  for (const name of key.split('.')) at = at?.properties?.[name];
  return at?.description ?? '';
}

/** The old names of a setting, and its own. */
function flagsOf(key: SettingKey): readonly string[] {
  const old = Object.entries(flagRows).flatMap(([name, { meaning }]) =>
    Object.values(meaning).includes(key) ? [flagName(name)] : [],
  );
  return [...new Set([...old, flagName(key)])];
}

function flagTables(): readonly string[] {
  return [
    '## Flags',
    '',
    'Flags are written as assisted-installer takes them (the `flag` package of Go): `-x` is',
    '`--x`, a value follows or is written after `=`, a boolean takes a value after `=` only, and the',
    'first word that is no flag ends them. The last of several wins; `--format-disk` adds up.',
    '',
    ...table(
      ['Flag', 'Meaning', 'Sent'],
      [
        ...Object.entries(flagRows).map(([name, row]) => flagRow(name, row, row.era)),
        ...Object.entries(ownFlagRows).map(([name, row]) => flagRow(name, row)),
      ],
    ),
    '',
    'A line with `--host`, `--port`, `--host-name` or `--installation-timeout` and without',
    '`--infra-env-id` comes from a service with version 1 of the interface, so `service.api` is `v1`',
    'then. A worker has no control plane to count: its `cluster.controlPlaneCount` is 0.',
    '',
  ];
}

const flagRow = (
  name: string,
  { placeholder, summary }: { readonly placeholder?: string; readonly summary: string },
  era = '',
): readonly string[] => [
  codeCell(placeholder === undefined ? flagName(name) : `${flagName(name)} ${placeholder}`),
  summary,
  era,
];

function variableTable(): readonly string[] {
  return [
    '## Variables of other programs',
    '',
    ...table(
      ['Variable', 'Meaning'],
      [
        ['`PULL_SECRET_TOKEN`', '`service.token`'],
        ['`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`', '`s3.accessKeyId`, `s3.secretAccessKey`'],
        ['`AWS_REGION`, `AWS_DEFAULT_REGION`', '`s3.region`'],
        ['`DRY_ENABLE`', '`host.reach` is `dry`'],
        ['`DRY_HOST_ID`', '`dry.hostId`'],
        ['`DRY_FAKE_REBOOT_MARKER_PATH`', '`dry.rebootMarker`'],
        ['`DRY_CLUSTER_HOSTS_PATH`', '`dry.clusterHosts`'],
        ['`S3_URL`, `BUCKET`, `CLUSTER_ID`, `DEVICE`', 'see below'],
        [
          '`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`',
          '`proxy.*`, in upper or lower case, see [network.md](network.md)',
        ],
      ],
    ),
    '',
    'Each `DRY_` variable may have the prefix `DRYCONFIG_`, which wins.',
    '',
    'With `S3_URL` set and no service named, Ignition comes from `S3_URL/BUCKET/CLUSTER_ID/<file>`,',
    'the disk is `DEVICE`, and no service is called: `bootwright -r worker` is then a whole line.',
    '',
  ];
}
