import type { Config } from '../../config/schema.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { RoleName } from '../../model/role.ts';
import { step } from '../step.ts';
import { chooseSource, explainSource } from './choose-source.ts';
import { HostIgnition } from './facts.ts';
import { receive } from './receive.ts';

/** The role that the host will have: the bootstrap host becomes a master. */
const hostRole = ({ role }: Config): RoleName => (role === 'bootstrap' ? 'master' : role);

/** Where the config is kept on the host; `coreos-installer` reads it there. */
export function hostIgnitionPath(config: Config): string {
  const { hostId } = config.cluster;
  return `/opt/install-dir/${hostRole(config)}${hostId === '' ? '' : `-${hostId}`}.ign`;
}

/**
 * Fetches the Ignition of this host. It is checked as a whole before a byte of it is written, since
 * a host that boots with a broken config is lost until a person comes.
 */
export const fetchHost = step({
  id: 'ignition/fetch-host',
  title: 'Fetch the Ignition of this host',
  stage: 'Installing',
  stageInfo: hostRole,
  uses: ['host', 'inventory', 'objects', 'web'],
  gives: HostIgnition,
  retry: { attempts: 3, every: seconds(2) },
  limit: minutes(45),
  explain: (config) => `${explainSource(config)}, to ${hostIgnitionPath(config)}`,
  run: async ({ host, inventory, objects, web, config, signal, note }) => {
    const source = chooseSource(config);
    const ports = { host, inventory, objects, web };
    const download = await source.open(ports, config, { role: hostRole(config), signal });
    const { bytes, sha256 } = await receive(download, { sha256: config.ignition.sha256 });
    const parsed = parseValidConfig(bytes);
    for (const { message, path, rule } of parsed.warnings) {
      note('warn', `ignition: ${message}`, { path, rule });
    }
    const path = hostIgnitionPath(config);
    await host.writeFile(path, bytes, { signal, mode: 0o600 });
    const origin = shownUrl(download.origin);
    return { path, bytes: bytes.length, sha256, origin, version: parsed.config.ignition.version };
  },
});
