import { version } from '../model/version.ts';
import { commands } from './commands.ts';
import { flagRows, ownFlagRows } from '../config/flag-table.ts';
import { flagName } from '../config/go-flags.ts';

const leftWidth = 34;

/** The help text; no line is wider than 80 columns. */
export function helpText(): string {
  const rows = Object.entries(flagRows);
  const shown = rows.filter(([name, { era }]) => era === undefined && name.length > 1);
  const old = rows.filter(([, { era }]) => era !== undefined);
  return [
    `bootwright ${version}: installs this bare-metal host as an OpenShift node`,
    '',
    'Usage',
    '  bootwright -r ROLE [flags]',
    '  bootwright COMMAND [flags]',
    '',
    'Commands',
    ...Object.entries(commands).map(([name, summary]) => line(name, summary)),
    '',
    'Flags (-x is the same as --x; a value may also follow =)',
    ...shown.map(flagLine),
    '',
    'Flags of Bootwright',
    ...Object.entries(ownFlagRows)
      .filter(([name]) => name.length > 1)
      .map(flagLine),
    line('--SECTION.KEY VALUE', 'any setting, --image.url for example'),
    '',
    'Flags that older services send',
    ...old.map(flagLine),
    '',
    'Environment',
    line('PULL_SECRET_TOKEN', 'token of the service'),
    line('AWS_ACCESS_KEY_ID …', 'credentials of an object store'),
    line('BOOTWRIGHT_SECTION_KEY', 'any setting, BOOTWRIGHT_IMAGE_URL'),
    line('S3_URL BUCKET CLUSTER_ID DEVICE', 'Ignition from an object store, no service'),
    line('DRY_ENABLE …', 'load-test the service'),
    '',
    'Settings come from /etc/bootwright/config.yaml, each --config FILE, the',
    'environment and the flags; the later source wins.',
    '',
    'Exit codes: 0 done, 2 wrong input, 3 not supported, 4 host, 5 remote service,',
    '6 media, 7 time limit, 8 cluster, 9 in doubt, 1 anything else.',
    '',
  ].join('\n');
}

const line = (left: string, summary: string): string =>
  `  ${left.padEnd(leftWidth)}${left.length >= leftWidth ? ' ' : ''}${summary}`.trimEnd();

const flagLine = ([name, { placeholder, summary }]: readonly [
  string,
  { readonly placeholder?: string; readonly summary: string },
]): string =>
  line(`${flagName(name)}${placeholder === undefined ? '' : ` ${placeholder}`}`, summary);
