import { setSourceMapsSupport } from 'node:module';
import { requireHost } from '../../adapters/host-root.ts';
import type { Environment } from '../../config/environment.ts';
import { readConfig, requireInstallable } from '../../config/load.ts';
import { exitCodeOf, failureText, printError } from '../messages.ts';
import type { StopSignal } from '../stop-signal.ts';

/**
 * Runs an install.
 * @throws AgentError of failures before the install begins; they are not reported to the service
 */
export async function runInstall(
  argv: readonly string[],
  environment: Environment,
  stop: StopSignal,
): Promise<number> {
  setSourceMapsSupport(true);
  const {
    mistakes: [mistake],
    ...loaded
  } = await readConfig(argv, environment);
  const { root } = loaded.config.host;
  // A container that does not see the host cannot read a file of the host.
  if (mistake === undefined || mistake.code === 'config.file-not-read') await requireHost(root);
  if (mistake !== undefined) throw mistake;
  const { joinHostNetwork } = await import('../../adapters/host/nsenter-host.ts');
  await joinHostNetwork(root, environment);
  await requireInstallable(loaded);
  const { install } = await import('./install.ts');
  return install(loaded, stop);
}

/**
 * Runs the controller as its job does, without the parser of all commands and without source maps:
 * the parser would take five megabytes of memory, and the maps more, as long as the controller
 * runs.
 */
export async function runController(
  environment: Environment,
  kubeconfig?: string,
): Promise<number> {
  try {
    const { runController: run } = await import('../controller.ts');
    return await run({
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      verbose: false,
      environment,
    });
  } catch (thrown) {
    printError(failureText(thrown));
    return exitCodeOf(thrown);
  }
}
