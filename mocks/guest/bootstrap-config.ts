// The Ignition of a bootstrap host that is a virtual machine: its units are real, and their scripts talk to the lab.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { configServerLog } from '../cluster/config-server-log.ts';
import { ignitionFile } from '../inventory/bootstrap-ignition.ts';

/** Scripts of the units that openshift-install lays down on a bootstrap host. */
const scripts = ['bootkube', 'progress', 'approve-csr', 'kubelet'] as const;

const folder = '/usr/local/bin';

/** The scripts by their paths on the host; `desk` is the URL at which it reaches the desk of the lab. */
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
