// `machine-config-daemon start --once-from FILE --skip-reboot` in a guest, as the Bash that does it there.
import { parseConfig } from '../../src/ignition/parse.ts';
import { decodeResource } from '../../src/ignition/resource.ts';
import type { Config } from '../../src/ignition/types.ts';
import { placeFile, quoted } from './install-script.ts';

const unitFolder = '/etc/systemd/system';

/** Modes that the daemon gives where an Ignition names none. */
const fileMode = 0o644;
const folderMode = 0o755;

/**
 * What the daemon does with an Ignition: directories, files, links, then units, which it enables and
 * does not start. Users are left out: a live guest has no user `core`.
 * @throws AgentError for a text that is no Ignition, or one with content that is not embedded
 */
export function onceFromScript(ignition: Uint8Array | string): string {
  const { storage = {}, systemd = {} } = parseConfig(ignition).config;
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
