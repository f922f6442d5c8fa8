import { proxyEnv } from '../host-commands.ts';
import type { StepScope } from '../step.ts';
import type { ImageWork } from './images/work.ts';

/** Work on images within an installation. */
export const imageWork = (scope: StepScope<'host' | 'clock'>): ImageWork => {
  const { host, clock, signal, progress, note, config } = scope;
  return { host, clock, signal, progress, note, env: proxyEnv(config.proxy) };
};
