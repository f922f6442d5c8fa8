import {
  type InstallConfig,
  installConfigRef,
  readInstallConfig,
} from '../../cluster/install-config.ts';
import type { Look } from '../../engine/wait.ts';
import { type Millis, minutes } from '../../model/duration.ts';
import type { StepScope } from '../step.ts';
import { apiTroubleOf } from './api-trouble.ts';
import { fromFirstView } from './first-view.ts';
import { heartbeatOf } from '../heartbeat.ts';

/** Waits until the cluster has its install-config, and reads it. */
export async function knownInstallConfig(
  scope: StepScope<'kube' | 'clock'>,
  within: Millis,
): Promise<InstallConfig> {
  const { kind, namespace = '', name } = installConfigRef;
  const selection = { kind, namespace, fieldSelector: `metadata.name=${name}` };
  const { watch, view } = fromFirstView(scope.kube, selection);
  const troubleOf = apiTroubleOf(scope.clock);
  const beat = heartbeatOf(scope);
  const look = async (): Promise<Look<InstallConfig>> => {
    const { objects, trouble } = await view();
    const reading = readInstallConfig(objects[0]);
    if ('installConfig' in reading) return { done: reading.installConfig };
    const status = troubleOf(trouble) ?? reading.problem;
    beat(status);
    return { status };
  };
  const limits = { within, watch, every: minutes(1) };
  return scope.until('the cluster has its install-config', look, limits);
}
