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
import { mirrorsPath, renderMirrors } from '../settings/image-mirrors.ts';
import { renderDiskHints } from '../settings/disk-hints.ts';
import { revealedProxies } from '../lib/proxies.ts';
import { shownText } from '../lib/shown-url.ts';

/**
 * Settings that name a file on the machine where a medium is made. Each file is copied under this
 * name into the agent's folder.
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

/** Contents of a medium. */
export interface MediumInput {
  /** The settings in the files, before defaults and derived values. */
  readonly settings: Layer;
  /** The same settings, checked and complete. */
  readonly config: Config;
  /** Pull spec of the agent. */
  readonly image: string;
  /** Contents of the files that settings name; a script may have bytes that are not text. */
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

/** The live Ignition of a medium, as JSON, and the list of its contents. */
export interface Medium {
  readonly ignition: string;
  readonly items: readonly MediumItem[];
}

/** The agent reads the keyfiles here. */
const keyfileFolder = `${agentFolder}/network`;

/**
 * Composes the Ignition of a live system that installs its host as the settings say, with all files
 * that the settings name.
 */
export function mediumOf(input: MediumInput): Medium {
  const { settings, config, image, texts, keyfiles, pullSecret, sshAuthorizedKeys } = input;
  const files: LiveFile[] = [];
  const items: MediumItem[] = [];
  // Only root may read the files: NetworkManager ignores other keyfiles.
  const add = (item: MediumItem, text: string | Buffer, mode = 0o600): void => {
    files.push([item.path, text, mode]);
    items.push(item);
  };
  const inside = new Map(settings);
  const pathOf = (key: MediumFileKey): string => `${agentFolder}/${fileNames[key]}`;
  for (const key of texts.keys()) inside.set(key, { value: pathOf(key), origin: 'medium' });
  if (keyfiles.size > 0) inside.set('network.keyfiles', { value: keyfileFolder, origin: 'medium' });
  const own = stringify(nested(inside));
  const path = `${agentFolder}/config.yaml`;
  add({ path, what: 'settings of the agent', isSecret: hasCredentials(own) }, own);
  for (const [key, text] of texts) {
    // Any of these files may hold a secret, except certificates.
    const isSecret = !/\.ca(File)?$/.test(key);
    const what = `${key}: ${textIn(settings, key)}`;
    add({ path: pathOf(key), what, isSecret }, text, key.startsWith('hooks.') ? 0o700 : undefined);
  }
  for (const [name, text] of keyfiles) {
    // A keyfile of a wireless network or of 802.1X holds a secret.
    const isSecret = text.split('\n').some(isSecretLine);
    add({ path: `${keyfileFolder}/${name}`, what: 'network.keyfiles', isSecret }, text);
  }
  const mirrors = renderMirrors(config.registries.mirrors);
  // The live system pulls the agent before the agent could write the mirrors itself.
  if (mirrors !== '')
    add({ path: mirrorsPath, what: 'registries.mirrors', isSecret: false }, mirrors);

  const { http, https, no } = revealedProxies(config.proxy);
  const hasProxy = http + https !== '';
  // The registry of the agent may be behind the same authority as the service.
  const trusted = [texts.get('service.caFile'), texts.get('registries.ca')];
  const trustBundle = certificateBundle(trusted.join('\n')) || undefined;
  const authfile = pullSecret === undefined ? '' : `--authfile ${livePaths.pullSecret} `;
  const ignition = liveConfig({
    image,
    args: ['install'],
    // A late network is no reason to give up; podman's messages are in the journal.
    pull: [
      '/bin/bash',
      '-c',
      `until podman image exists "$0" || podman pull --quiet ${authfile}"$0"; do sleep 15; done`,
      image,
    ],
    pullSecret,
    trustBundle,
    proxy: hasProxy ? { HTTP_PROXY: http, HTTPS_PROXY: https, NO_PROXY: no } : {},
    sshAuthorizedKeys,
    files,
  });
  const note = (at: string, what: string, isSecret = false): unknown =>
    items.push({ path: at, what, isSecret });
  if (hasProxy) note(livePaths.proxy, 'proxies', hasCredentials(`${http} ${https}`));
  if (pullSecret !== undefined) note(livePaths.pullSecret, 'registry credentials', true);
  if (trustBundle !== undefined) note(livePaths.trust, 'trust of the live system');
  for (const _ of sshAuthorizedKeys) note('ssh key', 'of the user core of the live system');
  note(agentUnitName, `runs ${image}`);
  return { ignition: JSON.stringify(ignition), items };
}

const hasCredentials = (text: string): boolean => shownText(text) !== text;

const isSecretLine = (line: string): boolean =>
  line.includes('=') && /psk|password|private-key|wep-key/.test(line.slice(0, line.indexOf('=')));

/** The data that a host loses when it starts from the medium, for people. */
export function disksOf({ disk, image }: Pick<Config, 'disk' | 'image'>): string {
  const hints = renderDiskHints(disk.hints);
  const install = disk.device === '' ? `the disk with ${hints}` : disk.device;
  const kept = disk.keep.length === 0 ? '' : ` but for the partitions ${disk.keep.join(', ')}`;
  const lost = image.existingRoot === '' ? `${install}${kept}` : 'the running system';
  return [lost, ...disk.format].join(', ');
}
