import type { Config } from '../../config/schema.ts';
import { hostOf } from '../../layering/registry/addresses.ts';
import { proxyEnv } from '../image/proxy-env.ts';
import type { StepScope } from '../step.ts';
import type { ImageWork } from './images/work.ts';
import type { RunningRegistry } from './registry-health.ts';

/** The proxies of the installation as variables; the registry of the host is never reached through one. */
export function registryEnv(
  { proxy }: Config,
  registry?: Pick<RunningRegistry, 'address'>,
): Readonly<Record<string, string>> {
  const own = registry === undefined ? [] : [hostOf(registry.address)];
  return proxyEnv({ ...proxy, no: [proxy.no, ...own].filter((word) => word !== '').join(',') });
}

/** Work on images within an installation. */
export const imageWork = (
  scope: StepScope<'host' | 'clock'>,
  registry?: Pick<RunningRegistry, 'address'>,
): ImageWork => {
  const { host, clock, signal, progress, note, config } = scope;
  return { host, clock, signal, progress, note, env: registryEnv(config, registry) };
};
