import { stringify } from 'yaml';
import { nested } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { type Layer, type SettingKey, textIn } from '../config/settings.ts';
import {
  agentFolder,
  agentUnitName,
  liveConfig,
  type LiveFile,
  livePaths,
} from '../ignition/live-agent.ts';
import { certificateBundle } from '../lib/certificates.ts';
import { mirrorsPath, renderMirrors } from '../lib/image-mirrors.ts';
import { renderDiskHints } from '../model/disk-hints.ts';
import { revealedProxies } from '../lib/proxies.ts';
import { shownText } from '../lib/shown-url.ts';

/**
 * Settings that name a file of the machine where a medium is made; each becomes a file of this name
 * in the agent's folder.
 */
const fileNames = {
  'hooks.after': 'hook-after',
  'hooks.before': 'hook-before',
  'ignition.file': 'host.ign',
  'ignition.caFile': 'ignition-ca.crt',
  'service.caFile': 'service-ca.crt',
  'service.tokenFile': 'token',
  'network.nmstate': 'nmstate.yaml',
  'registries.ca': 'registries-ca.crt',
  's3.secretAccessKeyFile': 's3-secret-key',
} as const satisfies Partial<Record<SettingKey, string>>;

/** A setting that names a file for the medium. */
export type MediumFileKey = keyof typeof fileNames;

/** The settings that name a file for the medium. */
export const mediumFileKeys = Object.keys(fileNames) as readonly MediumFileKey[];

/** What goes into a medium. */
export interface MediumInput {
  /** What the files of settings say, before anything follows from it. */
  readonly settings: Layer;
  /** The same, checked and complete. */
  readonly config: Config;
  /** Pull spec of the agent. */
  readonly image: string;
  /** Contents of the files that settings name; a script may have bytes that are no text. */
  readonly texts: ReadonlyMap<MediumFileKey, string | Buffer>;
  /** NetworkManager keyfiles by their names. */
  readonly keyfiles: ReadonlyMap<string, string>;
  /** Registry credentials, in the form of a pull secret. */
  readonly pullSecret?: string | undefined;
  readonly sshAuthorizedKeys: readonly string[];
}

/** A file or a unit in a medium. */
export interface MediumItem {
  readonly path: string;
  readonly what: string;
  readonly isSecret: boolean;
}

/** The live Ignition of a medium, as JSON, and what is in it. */
export interface Medium {
  readonly ignition: string;
  readonly items: readonly MediumItem[];
}

/** An item with the text that it is known to have. */
interface MediumFile extends MediumItem {
  readonly text: string | Buffer;
  /** Its permissions; 0600 where they are not given. */
  readonly mode?: number;
}

/**
 * Composes the Ignition of a live system that installs its host as the settings say, with all that
 * they name inside.
 */
export function mediumOf(input: MediumInput): Medium {
  const { config, image, pullSecret, sshAuthorizedKeys, texts } = input;
  const { http, https, no } = revealedProxies(config.proxy);
  const proxy = http + https === '' ? {} : { HTTP_PROXY: http, HTTPS_PROXY: https, NO_PROXY: no };
  const mirrors = renderMirrors(config.registries.mirrors);
  const files: readonly MediumFile[] = [
    ...[settingsFile(input), ...namedFiles(input), ...keyfilesOf(input)],
    // The agent is pulled before it can write them itself.
    ...(mirrors === ''
      ? []
      : [{ path: mirrorsPath, text: mirrors, what: 'registries.mirrors', isSecret: false }]),
  ];
  // The registry of the agent may be behind the same authority as the service.
  const trusted = [texts.get('service.caFile'), texts.get('registries.ca')];
  const trustBundle = certificateBundle(trusted.join('\n')) || undefined;
  const ignition = JSON.stringify(
    liveConfig({
      image,
      args: ['install'],
      pull: pullArgv(input),
      pullSecret,
      trustBundle,
      proxy,
      sshAuthorizedKeys,
      files: files.map(asLiveFile),
    }),
  );
  const item = (path: string, what: string, isSecret = false) => [{ path, what, isSecret }];
  return {
    ignition,
    items: [
      ...files.map(({ path, what, isSecret }) => ({ path, what, isSecret })),
      ...(http + https === ''
        ? []
        : item(livePaths.proxy, 'proxies', hasCredentials(`${http} ${https}`))),
      ...(pullSecret === undefined ? [] : item(livePaths.pullSecret, 'registry credentials', true)),
      ...(trustBundle === undefined ? [] : item(livePaths.trust, 'trust of the live system')),
      ...sshAuthorizedKeys.flatMap(() => item('ssh key', 'of the user core of the live system')),
      ...item(agentUnitName, `runs ${image}`),
    ],
  };
}

const hasCredentials = (text: string): boolean => shownText(text) !== text;

/** Where the agent finds the keyfiles. */
const keyfileFolder = `${agentFolder}/network`;

function settingsFile({ settings, texts, keyfiles }: MediumInput): MediumFile {
  const inside = new Map(settings);
  const move = (key: SettingKey, value: string): unknown =>
    inside.set(key, { value, origin: 'medium' });
  for (const key of texts.keys()) move(key, pathOf(key));
  if (keyfiles.size > 0) move('network.keyfiles', keyfileFolder);
  const text = stringify(nested(inside));
  const path = `${agentFolder}/config.yaml`;
  return { path, text, what: 'settings of the agent', isSecret: hasCredentials(text) };
}

const pathOf = (key: MediumFileKey): string => `${agentFolder}/${fileNames[key]}`;

/** All of them may hold a secret but certificates. */
const namedFiles = ({ settings, texts }: MediumInput): readonly MediumFile[] =>
  [...texts].map(([key, text]) => ({
    path: pathOf(key),
    text,
    what: `${key}: ${textIn(settings, key)}`,
    isSecret: !/\.ca(File)?$/.test(key),
    ...(key.startsWith('hooks.') ? { mode: 0o700 } : {}),
  }));

/**
 * The live and the installed system have the same ones; those of a wireless network or of 802.1X
 * hold a secret.
 */
const keyfilesOf = ({ keyfiles }: MediumInput): readonly MediumFile[] =>
  [...keyfiles].map(([name, text]) => ({
    path: `${keyfileFolder}/${name}`,
    text,
    what: 'network.keyfiles',
    isSecret: text.split('\n').some(isSecretLine),
  }));

const isSecretLine = (line: string): boolean =>
  line.includes('=') && /psk|password|private-key|wep-key/.test(line.slice(0, line.indexOf('=')));

/** Root alone may read them: NetworkManager takes no other keyfile. */
const asLiveFile = ({ path, text, mode = 0o600 }: MediumFile): LiveFile => [path, text, mode];

/** A network that is late is no reason to give up; what podman says is in the journal. */
const pullArgv = ({ pullSecret, image }: MediumInput): readonly string[] => [
  ...['/bin/bash', '-c'],
  `until podman image exists "$0" || podman pull --quiet ${pullSecret === undefined ? '' : `--authfile ${livePaths.pullSecret} `}"$0"; do sleep 15; done`,
  image,
];

/** What a host loses when it starts from the medium, for people. */
export function disksOf({ disk, image }: Pick<Config, 'disk' | 'image'>): string {
  const hints = renderDiskHints(disk.hints);
  const install = disk.device === '' ? `the disk with ${hints}` : disk.device;
  const kept = disk.keep.length === 0 ? '' : ` but for the partitions ${disk.keep.join(', ')}`;
  const lost = image.existingRoot === '' ? `${install}${kept}` : 'the running system';
  return [lost, ...disk.format].join(', ');
}
