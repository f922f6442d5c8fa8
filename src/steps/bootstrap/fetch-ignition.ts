import { parseValidConfig } from '../../ignition/parse.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { receive } from '../ignition/receive.ts';
import { step } from '../step.ts';
import { chooseBootstrapSource, explainBootstrapSource } from './choose-source.ts';
import { BootstrapIgnition } from './facts.ts';

/** Where bootstrap.ign is kept; the machine-config-daemon reads it there. */
export const bootstrapIgnitionPath = '/opt/install-dir/bootstrap.ign';

/** Fetches the Ignition of the bootstrap, and checks it as a whole before a byte is written. */
export const fetchIgnition = step({
  id: 'bootstrap/fetch-ignition',
  title: 'Fetch the Ignition of the bootstrap',
  uses: ['host', 'inventory', 'objects'],
  gives: BootstrapIgnition,
  retry: { attempts: 3, every: seconds(2) },
  limit: minutes(45),
  explain: (config) => `${explainBootstrapSource(config)}, to ${bootstrapIgnitionPath}`,
  run: async ({ host, inventory, objects, config, signal, note }) => {
    const source = chooseBootstrapSource(config);
    const download = await source.open({ inventory, objects }, signal);
    // The configured digest is that of this host's config, not of the cluster's.
    const { bytes } = await receive(download, { sha256: '' });
    for (const { message, path, rule } of parseValidConfig(bytes).warnings) {
      note('warn', `bootstrap.ign: ${message}`, { path, rule });
    }
    await host.writeFile(bootstrapIgnitionPath, bytes, { signal, mode: 0o600 });
    return { path: bootstrapIgnitionPath };
  },
});
