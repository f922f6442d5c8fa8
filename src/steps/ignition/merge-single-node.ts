import { mergeSingleNode as merge } from '../../ignition/merge.ts';
import { secretsInIgnition } from '../../layering/registry/log-secrets.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { step, type StepScope } from '../step.ts';
import { withRegistries } from '../host/registries.ts';
import { explainSource } from './sources.ts';
import { HostIgnition, renderedIgnitionPath, saveHostIgnition } from './fetch-host.ts';
import { ignitionSourceFailure } from './failures.ts';
import { isTrue } from '../host-commands.ts';

/**
 * The rendered config before the first merge. The merged config replaces it, and a second merge
 * would append twice.
 */
const renderedCopyPath = '/opt/install-dir/master.ign.rendered';

const hasRenderedArgv = ['stat', renderedIgnitionPath] as const;

/**
 * Merges the overrides of this host into the Ignition config that the bootstrap on this node
 * rendered. The node boots with the result, because no machine-config-server runs then.
 */
export const mergeSingleNodeIgnition = step({
  id: 'ignition/merge-single-node',
  title: "Merge this host's Ignition into the rendered master.ign",
  uses: ['host', 'inventory', 'objects', 'web', 'clock'],
  gives: HostIgnition,
  retry: { attempts: 3, every: seconds(2) },
  limit: minutes(45),
  explain: (config) => `${explainSource(config)}, merged into ${renderedIgnitionPath}`,
  preview: () => [hasRenderedArgv],
  run: async (scope) => {
    const { host, signal } = scope;
    const master = await readRendered(scope);
    for (const secret of secretsInIgnition(master)) scope.hide(secret);
    const { served, saved } = await saveHostIgnition(scope);
    const config = merge(master, served);
    const content = (await withRegistries(scope, config)) ?? JSON.stringify(config);
    return {
      ...(await host.writeFile(renderedIgnitionPath, content, { signal, mode: 0o600 })),
      origin: `${saved.origin}, merged into the config that the bootstrap rendered`,
      version: config.ignition.version,
    };
  },
});

/** The rendered config; a copy of it is saved before the merge replaces it. */
async function readRendered(scope: StepScope<'host'>): Promise<string> {
  const { host, signal } = scope;
  const copy = await host.readText(renderedCopyPath, signal);
  if (copy !== undefined) return copy;
  const isRendered = await isTrue(scope, hasRenderedArgv);
  const rendered = isRendered ? await host.readText(renderedIgnitionPath, signal) : undefined;
  if (rendered === undefined) {
    throw ignitionSourceFailure('ignition.not-rendered', `${renderedIgnitionPath} is missing`, {
      context: { path: renderedIgnitionPath },
    });
  }
  await host.writeFile(renderedCopyPath, rendered, { signal, mode: 0o600 });
  return rendered;
}
