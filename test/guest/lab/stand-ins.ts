// What a live guest lacks that a host with RHEL CoreOS has, for an agent that runs there.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseConfig } from '../../../src/ignition/parse.ts';
import { decodeResource } from '../../../src/ignition/resource.ts';
import type { Config } from '../../../src/ignition/types.ts';
import { configServerLog } from '../../../mocks/cluster/kubelet.ts';
import { ignitionFile } from '../../../mocks/inventory/ignition-files.ts';

/** What a machine does in a run. */
type GuestRole = 'bootstrap' | 'master' | 'arbiter';

const source = (name: string): string =>
  readFileSync(new URL(`live/${name}`, import.meta.url), 'utf8');

/** The stand-ins of a live guest; `desk` is the URL at which it reaches the desk of the lab. */
function standInsFor(role: GuestRole, desk: string): readonly PlacedFile[] {
  const podman = source('podman').replaceAll('@DESK@', desk);
  const everywhere = [{ path: '/usr/local/bin/podman', mode: 0o755, content: podman }];
  if (role !== 'bootstrap') return everywhere;
  return [
    ...everywhere,
    { path: '/usr/bin/oc', mode: 0o755, content: source('oc') },
    {
      path: '/etc/systemd/system/NetworkManager.service',
      mode: 0o644,
      content: source('NetworkManager.service'),
    },
  ];
}

/** Bash that puts the stand-ins into a live guest before its agent is started. */
export const placeStandIns = (role: GuestRole, desk: string): string =>
  [...standInsFor(role, desk).map(placeFile), 'systemctl daemon-reload', ''].join('\n');

/** A file that is put into a guest. */
interface PlacedFile {
  readonly path: string;
  readonly mode: number;
  readonly content: Uint8Array | string;
}

/** A word of Bash that means this text and nothing else. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A line of Bash that writes a file with its mode, and the folders on the way to it. */
export function placeFile({ path, mode, content }: PlacedFile): string {
  const text = Buffer.from(content).toString('base64');
  const octal = mode.toString(8).padStart(4, '0');
  return `base64 --decode <<< ${quoted(text)} | install -D -m ${octal} /dev/stdin ${quoted(path)}`;
}

// `machine-config-daemon start --once-from FILE --skip-reboot` in a guest, as the Bash that does it
// there.

const unitFolder = '/etc/systemd/system';

/** Modes that the daemon gives where an Ignition names none. */
const fileMode = 0o644;
const folderMode = 0o755;

/**
 * What the daemon does with an Ignition: directories, files, links, then units, which it enables
 * and does not start. Users are left out: a live guest has no user `core`.
 * @throws AgentError for a text that is no Ignition, or one with content that is not embedded
 */
export function onceFromScript(ignition: Uint8Array | string): string {
  const { storage = {}, systemd = {} } = parseConfig(ignition);
  const { directories = [], files = [], links = [] } = storage;
  const lines = [
    'set -euo pipefail',
    ...directories.map(
      ({ path, mode = folderMode }) => `install -d -m ${octal(mode)} ${quoted(path)}`,
    ),
    ...files.map(({ path, mode = fileMode, contents }) =>
      placeFile({ path, mode, content: decodeResource(contents ?? { source: '' }) }),
    ),
    ...links.map(({ path, target = '' }) => `ln -sfn ${quoted(target)} ${quoted(path)}`),
    ...(systemd.units ?? []).flatMap(unitLines),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

type Unit = NonNullable<NonNullable<Config['systemd']>['units']>[number];

function unitLines({ name, contents, enabled, dropins = [] }: Unit): readonly string[] {
  const path = `${unitFolder}/${name}`;
  return [
    ...textLines(path, contents),
    ...dropins.flatMap((dropin) => textLines(`${path}.d/${dropin.name}`, dropin.contents)),
    ...(enabled === true ? [`systemctl enable --quiet ${quoted(name)}`] : []),
  ];
}

const textLines = (path: string, content = ''): readonly string[] =>
  content === '' ? [] : [placeFile({ path, mode: fileMode, content })];

const octal = (mode: number): string => mode.toString(8).padStart(4, '0');

// The Ignition of a bootstrap host that is a virtual machine: its units are real, and their scripts
// talk to the lab.

/** Scripts of the units that openshift-install lays down on a bootstrap host. */
const scripts = ['bootkube', 'progress', 'approve-csr', 'kubelet'] as const;

const folder = '/usr/local/bin';

/**
 * The scripts by their paths on the host; `desk` is the URL at which it reaches the desk of the
 * lab.
 */
export const bootstrapScripts = (desk: string): ReadonlyMap<string, string> =>
  new Map(
    scripts.map((name) => {
      const text = readFileSync(new URL(`bootstrap/${name}.sh`, import.meta.url), 'utf8');
      const script = text.replaceAll('@DESK@', desk).replaceAll('@LOG@', configServerLog);
      return [`${folder}/${name}.sh`, script] as const;
    }),
  );

const BootstrapConfig = z.looseObject({
  storage: z.looseObject({ files: z.array(z.looseObject({ path: z.string() })) }),
});

/** Gives the units of a bootstrap config, as JSON text, scripts that a guest can run. */
export function withGuestScripts(config: string, desk: string): string {
  const { storage, ...rest } = BootstrapConfig.parse(JSON.parse(config));
  const own = bootstrapScripts(desk);
  const files = [
    ...storage.files.filter(({ path }) => !own.has(path)),
    ...[...own].map(([path, text]) => ignitionFile(path, text, 0o755)),
  ];
  return JSON.stringify({ ...rest, storage: { ...storage, files } });
}
