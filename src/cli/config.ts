import { join } from 'node:path/posix';
import { releaseVersion } from '../cluster/release-version.ts';
import { ignitionSourceOf } from '../config/complete.ts';
import { ownOrHost } from '../adapters/host-root.ts';
import { findUnopened, readNamed } from '../config/files.ts';
import { findInConfig, missingIn } from '../config/findings.ts';
import { checkConfig, type CheckedConfig, installNotes, loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { configJsonSchema, renderConfigJson, renderConfigText } from '../config/show.ts';
import { type Setting, settingTable } from '../config/setting-table.ts';
import { readSettings } from '../config/sources.ts';
import { refusalsOf } from '../engine/describe.ts';
import { authorityProblem } from '../lib/certificates.ts';
import { plainLine } from '../lib/plain-text.ts';
import { type SettingKey, textIn } from '../config/settings.ts';
import type { AgentError } from '../model/failure.ts';
import { chooseRole } from '../roles/choose.ts';
import { badAuthorities } from '../steps/ignition/registries.ts';
import { whyUnverified } from '../steps/image/source.ts';
import type { FilesCall, InstallLine } from './command.ts';
import { exitCodeOf, print, printJson, printNote, wrapped } from './messages.ts';

/**
 * Prints every setting with its origin; nothing is touched.
 * @throws AgentError `cli.*`, `config.*`
 */
export async function runConfigShow({ argv, environment, format }: InstallLine): Promise<number> {
  const loaded = await loadConfig(readSettings(argv, environment));
  for (const note of loaded.notes) printNote('note', note);
  print(format === 'json' ? renderConfigJson(loaded) : renderConfigText(loaded));
  return 0;
}

/**
 * Prints everything for which an install would be refused, and what is hardly meant; nothing is
 * touched. Resolves with the exit code that the install would end with.
 */
export async function runConfigValidate(line: InstallLine): Promise<number> {
  const { mistakes, loaded, notes } = await findInConfig(line.argv, line.environment);
  const { config } = loaded;
  const unread = new Set(mistakes.map(({ context }) => context['file']));
  const warnings = [
    ...[...warningsOf(loaded), ...findUnverified(config), ...findNoVersion(config)],
    ...(await findUnopened(loaded, unread)),
  ];
  const all = [...withRefusals(mistakes, config), ...(await findBadAuthorities(config))];
  if (line.format === 'json') {
    const errors = all.map(({ code, message, hint, context }) => ({
      code,
      message,
      hint,
      context,
    }));
    printJson({ errors, warnings });
  } else {
    for (const note of installNotes({ config: loaded.config, notes })) printNote('note', note);
    print(renderFindings(all, warnings));
  }
  const [first] = all;
  return first === undefined ? 0 : exitCodeOf(first);
}

/** Of `registries.ca`, where the file is here; where it is not, that is a warning. */
async function findBadAuthorities({
  host,
  registries: { ca },
}: Config): Promise<readonly AgentError[]> {
  if (ca === '') return [];
  const read = ownOrHost(ca, host.root).then((path) => readNamed({ path, kind: 'authorities' }));
  const text = await read.catch(() => undefined);
  const problem = text === undefined ? undefined : authorityProblem(text, Date.now());
  return problem === undefined ? [] : [badAuthorities(ca, problem)];
}

/**
 * Mistakes with those that only the steps of the role know. Left out is what both know, and what
 * only follows from a setting that is refused.
 */
export function withRefusals(
  mistakes: readonly AgentError[],
  config: Config,
): readonly AgentError[] {
  if (mistakes.some(({ code }) => code === 'config.malformed-file')) return mistakes;
  const known = new Set(mistakes.map(({ message }) => message));
  const refused = mistakes.flatMap(({ context: { setting } }) =>
    setting === undefined ? [] : [setting],
  );
  const follows = ({ context }: AgentError): boolean =>
    refused.some((key) => String(context['settings']).split(', ').includes(String(key)));
  const refusals = refusalsOf(chooseRole(config), config);
  return [
    ...mistakes,
    ...refusals.filter((refusal) => !known.has(refusal.message) && !follows(refusal)),
  ];
}

/** The findings for people: what is wrong, its code, and what to do. */
export function renderFindings(
  mistakes: readonly AgentError[],
  warnings: readonly string[] = [],
): string {
  const lines = [
    ...mistakes.flatMap(({ code, message, hint }) => [
      `error: ${plainLine(message)} [${code}]`,
      `  next: ${plainLine(hint)}`,
    ]),
    ...warnings.map((warning) => `warning: ${plainLine(warning)}`),
  ];
  const end =
    mistakes.length === 0
      ? 'the configuration is complete'
      : `an install would be refused: ${counted(mistakes.length, 'error')}`;
  return `${[...lines, end].join('\n')}\n`;
}

const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * What an install takes, although it is hardly meant. Ids of the service are UUIDs; the key of an
 * object store may be any text.
 */
function warningsOf({ given, origins }: CheckedConfig): readonly string[] {
  const ids =
    ignitionSourceOf(given) === 'service'
      ? (['cluster.id', 'cluster.infraEnvId', 'cluster.hostId'] as const)
      : [];
  const doubts: readonly (readonly [SettingKey, boolean, string])[] = [
    ...ids.map((key) => [key, uuid.test(textIn(given, key)), 'is not a UUID'] as const),
    [
      'cluster.openshiftVersion',
      releaseVersion(textIn(given, 'cluster.openshiftVersion')) !== undefined,
      'is not a version of OpenShift, 4.20.1 for example',
    ],
    [
      'disk.device',
      textIn(given, 'disk.device').startsWith('/'),
      'is not a path, /dev/… for example',
    ],
    ...pathDoubts(textIn(given, 'service.url')),
  ];
  return doubts
    .filter(([key, isSound]) => !isSound && textIn(given, key) !== '')
    .map(([key, , what]) => `${origins.get(key) ?? 'default'}: ${key} ${what}`);
}

/** A service has nothing but /api; a proxy in front of it may serve it below another path. */
export function pathDoubts(text: string): readonly (readonly [SettingKey, boolean, string])[] {
  const url = URL.parse(text);
  if (url === null) return [];
  const unsent = url.username + url.password + url.search + url.hash;
  const what =
    unsent === ''
      ? `has the path ${url.pathname}, and requests go to ${join(url.pathname, '/api')}/…; assisted-service serves /api at the top`
      : 'has a user, a password, a query or a fragment, which no request carries';
  return [['service.url', url.pathname + unsent === '/', what]];
}

/**
 * Of an image that is installed all the same; where it would be refused, that is an error already.
 */
export function findUnverified(config: Config): readonly string[] {
  if (config.service.url.isEmpty && !config.image.allowUnverified) return [];
  try {
    const why = whyUnverified(config);
    return why === undefined ? [] : [`nothing verifies the image: ${why}`];
  } catch {
    return [];
  }
}

/** Of a host that starts a cluster; what bootstrap.ign says is not known yet. */
export const findNoVersion = (config: Config): readonly string[] =>
  config.cluster.openshiftVersion === '' && /bootstrap|single/.test(chooseRole(config).name)
    ? ['cluster.openshiftVersion is not set: bootstrap.ign must name the release']
    : [];

/** Sections that no file of a host needs, and those that only a bootstrap host reads. */
const rarelySet: ReadonlySet<string> = new Set(['role', 'host']);
const ofBootstrap: ReadonlySet<string> = new Set(['bootstrap', 'controller']);

/**
 * Prints a configuration file of a role with every setting as a comment; what an install needs
 * besides is at its top.
 */
export async function runConfigInit({
  values: [role = ''],
}: Pick<FilesCall, 'values'>): Promise<number> {
  const loaded = checkConfig([new Map([['role', { value: role, origin: 'argument ROLE' }]])]);
  const needed = withRefusals(await missingIn(loaded), loaded.config).flatMap(({ message, hint }) =>
    commented(`- ${message}: ${hint}`),
  );
  const sections = Object.entries(settingTable).filter(
    ([name]) => !rarelySet.has(name) && (role === 'bootstrap' || !ofBootstrap.has(name)),
  );
  const lines = [
    '# yaml-language-server: $schema=bootwright.schema.json',
    '# The schema, for an editor: bootwright config schema > bootwright.schema.json',
    '#',
    ...commented(
      'Settings are shown with their defaults: remove the # of what you change, and that of its section.',
    ),
    '# What an install needs besides, as `bootwright config validate --config FILE` says:',
    ...needed,
    `role: ${role}`,
    ...sections.flatMap(([name, settings]) => [
      '',
      `#${name}:`,
      ...Object.entries(settings).flatMap(settingLines),
    ]),
  ];
  print(`${lines.join('\n')}\n`);
  return 0;
}

const commented = (text: string, before = ''): readonly string[] =>
  wrapped(text, 100).map((line) => `${before}# ${line}`);

/** A setting as it is set, behind what it is for; secrets have no place in a file. */
function settingLines([key, setting]: readonly [string, Setting]): readonly string[] {
  if (setting.kind === 'secret') return [];
  const choices = setting.kind === 'word' ? ` (${setting.words.join(', ')})` : '';
  return [...commented(`${setting.summary}${choices}`, '  '), `#  ${key}: ${unsetValue(setting)}`];
}

function unsetValue(setting: Exclude<Setting, { kind: 'secret' }>): string {
  if (setting.kind === 'word') return setting.byDefault;
  if (setting.kind === 'hints') return '{}';
  return 'byDefault' in setting ? JSON.stringify(setting.byDefault ?? 0) : '[]';
}

/** Prints the JSON Schema of a configuration file. */
export function runConfigSchema(): number {
  printJson(configJsonSchema());
  return 0;
}
