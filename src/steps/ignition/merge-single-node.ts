import { createHash } from 'node:crypto';
import { mergeSingleNode as merge } from '../../ignition/merge.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { step, type StepScope } from '../step.ts';
import { explainSource } from './sources.ts';
import { HostIgnition, keepHostIgnition, tellWarnings } from './fetch-host.ts';
import { ignitionSourceFailure } from './failures.ts';

/** Where bootkube leaves the Ignition of the only node (openshift/installer, bootstrap in place). */
export const renderedIgnitionPath = '/opt/openshift/master.ign';

/**
 * The rendered config as it was before the first merge. What is merged takes its place, and merging
 * twice would append twice.
 */
const keptPath = '/opt/install-dir/master.ign.rendered';

/** Asks whether bootkube left a config. */
export const hasRenderedArgv = ['stat', renderedIgnitionPath] as const;

/**
 * Merges the overrides of this host into the Ignition that the node's own bootstrap rendered. The
 * node boots with the result; there is no machine-config-server left to point to.
 */
export const mergeSingleNode = step({
  id: 'ignition/merge-single-node',
  title: "Merge this host's Ignition into that of the only node",
  uses: ['host', 'inventory', 'objects', 'web'],
  gives: HostIgnition,
  retry: { attempts: 3, every: seconds(2) },
  limit: minutes(45),
  explain: (config) => `${explainSource(config)}, merged into ${renderedIgnitionPath}`,
  preview: () => [hasRenderedArgv],
  run: async (scope) => {
    const { host, signal } = scope;
    const master = await keepRendered(scope);
    const { bytes, kept } = await keepHostIgnition(scope);
    const { config, json, warnings } = merge({ master, host: bytes });
    tellWarnings(scope, warnings);
    await host.writeFile(renderedIgnitionPath, json, { signal, mode: 0o600 });
    return {
      path: renderedIgnitionPath,
      bytes: Buffer.byteLength(json),
      sha256: createHash('sha256').update(json).digest('hex'),
      origin: `${kept.origin}, merged into the config that the bootstrap rendered`,
      version: config.ignition.version,
    };
  },
});

/** The rendered config; a copy of it is kept before anything takes its place. */
async function keepRendered({ host, signal }: StepScope<'host'>): Promise<string> {
  const { exitCode } = await host.exec(hasRenderedArgv, {
    signal,
    limit: seconds(20),
    accept: [0, 1],
  });
  const rendered = exitCode === 0 ? await host.readText(renderedIgnitionPath, signal) : undefined;
  if (rendered === undefined) {
    throw ignitionSourceFailure('ignition.not-rendered', `${renderedIgnitionPath} is not there`, {
      context: { path: renderedIgnitionPath },
    });
  }
  const kept = await host.readText(keptPath, signal);
  if (kept !== undefined) return kept;
  await host.writeFile(keptPath, rendered, { signal, mode: 0o600 });
  return rendered;
}
